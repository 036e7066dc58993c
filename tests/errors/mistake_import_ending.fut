import "std/sort.fut"
import "std/stat"
