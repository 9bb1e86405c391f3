// Package plural writes numbers of things: "1 message", "2 messages".
package plural

import "fmt"

// Of returns a number and the name of what it counts, which gets an s unless the number is 1: Of(2, "message") is
// "2 messages".
func Of[N ~int | ~int64 | ~uint32 | ~uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Were returns "was" for one and "were" for any other number.
func Were[N ~int | ~int64 | ~uint32 | ~uint64](n N) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
