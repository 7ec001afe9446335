"""Write rule trees and documents as GBNF."""
