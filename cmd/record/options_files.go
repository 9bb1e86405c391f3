package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/recorder"
)

// fileSettings are options about names and splits that have no field of their own in the recorder.
type fileSettings struct {
	split         split
	repeatLatched bool // the default
}

// split is a switch that may have a value: the size in MiB after which to split, an old form that rosbag
// record still takes.
type split struct {
	on  bool
	mib int
}

func (f *fileSettings) group(o *recorder.Options) config.Group {
	const tooShort = "want at least 1s, such as 10m"
	rules := func() []config.Rule { return f.rules(o) }
	return config.Group{Title: "Names and splits", Rules: rules, Options: []config.Option{
		{Name: "output-prefix", Short: "o", Arg: "PREFIX", Stock: true, Value: config.Text(&o.Output.Prefix, checkFileName), Help: `
			Name the bag PREFIX_<date>.bag.`},
		{Name: "output-name", Short: "O", Arg: "NAME", Stock: true, Value: config.Text(&o.Output.Name, checkFileName, checkBaseName), Help: `
			Name the bag NAME.bag.`},
		{Name: "name-template", Arg: "NAME", Value: config.Text(&o.Output.Template, checkFileName, checkTemplate), Help: `
			Name the bags by the letters of strftime (run_%Y%m%d_%H%M) and {time}, {split} and {host}. If the name exists, a number is appended.`},
		{Name: "file-mode", Arg: "MODE", Value: config.To(&o.Output.Mode, readFileMode), Help: `
			Mode of the bags, in octal digits: 0644 lets every user read them, 0660 lets the group write (default: 0640, reduced by the umask).`},
		{Name: "split", Stock: true, Value: config.Optional(&f.split, readSplit), Help: `
			Continue in the next file, <name>_0.bag, <name>_1.bag and so on, where --size or --duration would end the recording. The old form
			--split=MiB also sets --size.`},
		{
			Name: "size", Arg: "MiB", Stock: true,
			Value: config.Func(func(mib int64) { o.MaxBytes = mib << 20 }, units.Int64,
				units.AtLeast(int64(1), wantSize), units.AtMost(int64(1<<40), "Split size must be at most 1099511627776 MiB")), Help: `
			End, or with --split begin the next file, when the bag holds this many MiB.`,
		},
		{Name: "duration", Arg: "TIME", Stock: true, Value: config.To(&o.Duration, units.Duration), Help: `
			End, or with --split begin the next file, after this time: seconds, or with unit m or h.`},
		{Name: "split-at", Arg: "TIME", Value: config.To(&o.SplitAt, units.Duration, units.AtLeast(time.Second, tooShort)), Help: `
			Begin a next file at multiples of this time on the local clock: 10m is at 12:00, 12:10 and so on. Switches --split on.`},
		{Name: "repeat-latched", Stock: true, Value: config.Toggle(func(on bool) { f.repeatLatched, o.NoRepeatLatched = on, !on }), Help: `
			Begin each file with the latest message of each latching publisher. This is the default.`},
		{
			Name: "no-repeat-latched", Value: config.Switch(&o.NoRepeatLatched),
			Help: `Do not begin files with latched messages.`,
		},
	}}
}

const wantSize = "Split size must be positive: give a number of MiB, such as 1024"

func (f *fileSettings) rules(o *recorder.Options) []config.Rule {
	return []config.Rule{
		{
			Bad:     f.repeatLatched && o.NoRepeatLatched,
			Options: []string{"repeat-latched", "no-repeat-latched"},
			Reason:  "leave out --repeat-latched or --no-repeat-latched",
		},
		{
			Bad:     o.Output.Name != "" && o.Output.Prefix != "",
			Options: []string{"output-prefix", "output-name"},
			Reason:  "Can't set both prefix and name. Leave out --output-prefix or --output-name",
		},
		{
			Bad:     o.Output.Template != "" && o.Output.Name+o.Output.Prefix != "",
			Options: namesBeside(&o.Output),
			Reason:  "--name-template stands in place of --output-prefix and --output-name: leave those out",
		},
	}
}

// namesBeside returns --name-template and the options that it excludes, as far as they are set.
func namesBeside(o *recorder.Output) []string {
	names := []string{"name-template"}
	if o.Prefix != "" {
		names = append(names, "output-prefix")
	}
	if o.Name != "" {
		names = append(names, "output-name")
	}
	return names
}

// readOldSplit reads "--split 1024 /topic", as rosbag's wrapper does: a word of digits is no topic's name,
// nor an expression that matches one.
func (f *fileSettings) readOldSplit(o *recorder.Options) {
	if !f.split.on || f.split.mib != 0 {
		return
	}
	for i, word := range o.Select.Topics {
		if n, err := strconv.ParseInt(word, 10, 31); err == nil {
			f.split.mib = int(n)
			o.Select.Topics = slices.Delete(o.Select.Topics, i, i+1)
			return
		}
	}
}

func readSplit(text string) (split, error) {
	if n, err := units.Int(text); err == nil { // before the words of a switch, which are 0 and 1, too
		if n < 0 {
			return split{}, fmt.Errorf("%s", wantSize)
		}
		return split{on: true, mib: n}, nil
	}
	on, err := units.Switch(text)
	if err != nil {
		err = errors.New("want true, false or a number of MiB")
	}
	return split{on: on}, err
}

func checkFileName(name string) error {
	switch {
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("want no control characters")
	case strings.HasPrefix(name, "~/"):
		return errors.New("only a shell knows what ~ is, and only at the start of a word: write the directory in full")
	}
	return nil
}

// checkBaseName refuses a directory as the name of a bag: the bag would be hidden, dir/.bag.
func checkBaseName(name string) error {
	if strings.HasSuffix(name, "/") {
		return errors.New("want a name after the last slash; --output-prefix takes a directory, and adds the date")
	}
	return nil
}

func checkTemplate(template string) error { return recorder.Output{Template: template}.Check() }

// readFileMode reads the mode of files in octal digits.
func readFileMode(text string) (os.FileMode, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return 0, fmt.Errorf("%q: want three or four octal digits of a file that its owner may read and write, such as 0640 or 0644", text)
	}
	return os.FileMode(n), nil
}
