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
	"info": "gobag", "echo": "gobag", "reindex": "gobag", "check": "gobag", "diff": "gobag",
	"compress": "gobag", "decompress": "gobag",
	"decrypt": "gobag", "convert": "gobag", "filter": "gobag", "merge": "gobag", "split": "gobag",
	"note": "gobag", "find": "gobag",
	"index": "gobag", "upload": "gobag", "audit": "gobag",
}

// CheckCommand returns an error for a command line, such as gobag play x.bag, that begins with a command
// of rosbag or gobag which another program than own carries out, or which own carries out without that
// word. Topics and files may have the names of commands. So, for gorecord, a word other than record and
// play is a command only if a bag follows, and the name of a file is never a command.
func CheckCommand(own string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word, rest := args[0], args[1:]
	doer, ok := doers[word]
	if !ok || own == "gobag" && doer == own {
		return nil
	}
	meant := word == "record" || word == "play" || own != "gorecord" ||
		slices.ContainsFunc(rest,
			func(arg string) bool {
				return strings.HasSuffix(arg, ".bag") ||
					strings.HasSuffix(arg, ".mcap")
			})
	if !meant {
		return nil
	}
	if _, err := os.Stat(word); err == nil { // no other argument is looked up: the disk of a bag may hang
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
