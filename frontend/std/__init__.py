"""Files in the language that programs import, such as ``import "std/sort"``; docs/library.md."""
