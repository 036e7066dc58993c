"""Values outside of programs: text and binary files, random data sets, comparison."""
