package control_test

import (
	"fmt"

	"github.com/gorosbag/gorosbag/player/control"
)

// What a front end shows of play that has ended: whether all was played.
func ExampleSummary() {
	sum := control.Summary{Messages: 100} // as player.Run returns it
	fmt.Println(sum.Messages, sum.Lossy())
	sum.Dropped = 1
	fmt.Println(sum.Messages, sum.Lossy())
	// Output:
	// 100 false
	// 100 true
}
