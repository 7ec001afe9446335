"""Rule trees and documents written as GBNF."""
