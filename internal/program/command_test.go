package program_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/program"
)

// TestCheckCommand: who takes our programs for rosbag is told which one does what.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"gorecord record -a":     "record: gorecord needs no such word: write gorecord -a; a topic of that name is /record",
		"gorecord play x.bag":    "play: goplay does that: write goplay x.bag; a topic of that name is /play",
		"gorecord info x.bag":    "info: gobag does that: write gobag info x.bag; a topic of that name is /info",
		"gorecord info":          "", // a topic
		"gorecord /record -a":    "",
		"gorecord -a record":     "",
		"goplay play x.bag -l":   "play: goplay needs no such word: write goplay x.bag -l",
		"goplay record -a":       "record: gorecord does that: write gorecord -a",
		"goplay check x.bag":     "check: gobag does that: write gobag check x.bag",
		"goplay command_test.go": "",
		"gobag play x.bag":       "play: goplay does that: write goplay x.bag",
		"gobag record -a":        "record: gorecord does that: write gorecord -a",
		"gobag info x.bag":       "",
		"gobag inf x.bag":        "",
		"gomaster roscore -p 1":  "roscore: gomaster needs no such word: write gomaster -p 1",
		"gomaster record":        "record: gorecord does that: write gorecord",
		"gomaster healthcheck":   "",
		"gomaster":               "",
	} {
		words := strings.Fields(line)
		got := ""
		if err := program.CheckCommand(words[0], words[1:]); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
