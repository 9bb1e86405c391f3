// Command demobag writes testdata/demo.bag: ten seconds of a small robot that drives
// a circle in an empty room. The bag is ours, small, and holds what a recorder and
// a player can get wrong: latched topics with several publishers, several rates,
// and a header sequence.
//
//	go run ./test/demobag > testdata/demo.bag
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	w := bufio.NewWriter(os.Stdout)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demobag:", err)
		os.Exit(1)
	}
}
