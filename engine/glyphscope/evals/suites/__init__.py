"""Suite files: what they say, how they are read, those that come with the program, and what is made into one."""
