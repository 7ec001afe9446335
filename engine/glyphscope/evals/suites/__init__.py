"""Suite files: their structure, reading them, the bundled ones, and making and importing suites."""
