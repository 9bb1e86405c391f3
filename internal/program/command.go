package program

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// doers has the program that carries out each command of rosbag and of gobag.
var doers = map[string]string{
	"record": "gorecord", "play": "goplay", "master": "gomaster", "roscore": "gomaster",
	"info": "gobag", "echo": "gobag", "reindex": "gobag", "check": "gobag", "diff": "gobag", "compress": "gobag", "decompress": "gobag",
	"decrypt": "gobag", "convert": "gobag", "filter": "gobag", "merge": "gobag", "split": "gobag", "note": "gobag", "find": "gobag",
	"index": "gobag", "upload": "gobag", "audit": "gobag",
}

// CheckCommand returns an error for a command line that begins with a command of rosbag or gobag
// which another program than own carries out, or own without that word: gobag play x.bag. Topics
// may have such names: but for record and play a bag has to follow. So may files.
func CheckCommand(own string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word, rest := args[0], args[1:]
	doer, ok := doers[word]
	if !ok || own == "gobag" && doer == own {
		return nil
	}
	meant := word == "record" || word == "play" || own != "gorecord" || slices.ContainsFunc(rest, func(arg string) bool { return strings.HasSuffix(arg, ".bag") || strings.HasSuffix(arg, ".mcap") })
	if !meant {
		return nil
	}
	if _, err := os.Stat(word); err == nil { // only of such a word: the disk of a bag may not answer
		return nil
	}
	write := append([]string{doer}, rest...)
	if doer == "gobag" {
		write = append([]string{doer}, args...)
	}
	does := doer + " does that"
	if doer == own {
		does = own + " needs no such word"
	}
	text := fmt.Sprintf("%s: %s: write %s", word, does, strings.Join(write, " "))
	if own == "gorecord" {
		text += "; a topic of that name is /" + word
	}
	return errors.New(text)
}
