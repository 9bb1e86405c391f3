package control_test

import (
	"fmt"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// What a front end shows of a recording that has ended.
func ExampleSummary() {
	sum := control.Summary{File: "run1.bag", Topics: []control.TopicSummary{{Topic: "/imu", Messages: 100}}} // as recorder.Run returns it
	for _, t := range sum.Topics {
		fmt.Println(t.Topic, t.Messages, sum.File)
	}
	fmt.Println(control.DropBufferFull) // one of the causes for which messages are dropped
	// Output:
	// /imu 100 run1.bag
	// queue_full
}
