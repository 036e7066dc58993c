"""Values outside of programs: text and binary files, random data, comparison."""
