"""The window: its frame, menus, rail of pages, docks, files and status line. It puts the pages together."""
