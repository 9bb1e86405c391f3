// Package wording writes texts for people: numbers of things, decimal times, what an error means and what
// to do, the nearest known name, and text that cannot control a terminal.
package wording

import "fmt"

// Plural returns a number and the name of what it counts, which gets an s unless the number is 1: Of(2,
// "message") is "2 messages".
func Plural[N ~int | ~int64 | ~uint32 | ~uint64](n N, thing string) string {
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
