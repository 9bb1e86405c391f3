package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// sample is what the options of a program set that is like gorecord: it has an option of each kind.
type sample struct {
	Topics, Exclude, Types, Notes  []string
	Pauses                         []string
	MaxRate                        map[string]float64
	Every, Count                   map[string]int
	All, BZ2, LZ4, Snapshot        bool
	Split                          split
	Buffsize, Chunksize            int
	Limit                          int
	MinSpace, MaxBytes             int64
	MaxAge, FlushInterval          time.Duration
	Overflow                       string
	OutputName, OutputPrefix       string
	Token, HTTP, Master, MasterURI string
	AllowRemoteShutdown            bool
	file                           string
}

const sampleHelp = "Do what a sample does."

func (s *sample) program() *config.Program {
	group := func(title string, options ...config.Option) config.Group {
		return config.Group{Title: title, Options: options}
	}
	what := group("What to record",
		config.Option{Name: "topic", Arg: "TOPIC", Stock: true, Value: config.Texts(&s.Topics), Help: `Record this topic.`},
		config.Option{Name: "all", Short: "a", Stock: true, Value: config.Switch(&s.All), Help: `Record all topics.`},
		config.Option{Name: "exclude", Short: "x", Arg: "REGEX", Value: config.Texts(&s.Exclude)},
		config.Option{Name: "type", Arg: "TYPE", Value: config.Texts(&s.Types)},
		config.Option{Name: "note", Arg: "KEY=VALUE", Value: config.Texts(&s.Notes)},
		config.Option{Name: "pause-topics", Arg: "TOPIC", Value: config.Many(config.Texts(&s.Pauses))},
		config.Option{Name: "max-rate", Arg: "TOPIC=HZ", Value: config.Pairs(&s.MaxRate, units.Float, positive[float64])},
		config.Option{Name: "every", Arg: "TOPIC=N", Value: config.Pairs(&s.Every, units.Int, positive[int])},
		config.Option{Name: "count", Arg: "TOPIC=N", Value: config.Pairs(&s.Count, units.Int, positive[int])},
	)
	what.Rules = func() []config.Rule {
		return append(config.Each([]string{"topic"}, func(topic string) error {
			if strings.Contains(topic, " ") {
				return errors.New("want no blanks")
			}
			return nil
		}, s.Topics...), config.Rule{Bad: len(s.Topics) == 0 && !s.All, Options: []string{"topic", "all"}, Reason: "No topics specified. Name topics, or use -a for all"})
	}
	files := group("Files",
		config.Option{Name: "output-name", Short: "O", Arg: "NAME", Value: config.Text(&s.OutputName)},
		config.Option{Name: "output-prefix", Short: "o", Aliases: []string{"prefix"}, Arg: "PREFIX", Value: config.Text(&s.OutputPrefix)},
		config.Option{Name: "split", Stock: true, Value: config.Optional(&s.Split, readSplit)},
		config.Option{Name: "min-space", Short: "L", Arg: "SIZE", Default: "1G", Value: config.To(&s.MinSpace, units.Bytes)},
		config.Option{Name: "max-splits", Arg: "N", Stock: true, Value: config.To(new(int), units.Int)},
		config.Option{Name: "max-bytes", Arg: "SIZE", Value: config.To(&s.MaxBytes, units.Bytes)},
		config.Option{Name: "max-age", Arg: "TIME", Value: config.To(&s.MaxAge, units.Duration)},
		config.Option{Name: "limit", Short: "l", Arg: "N", Value: config.To(&s.Limit, units.Int)},
	)
	files.Rules = func() []config.Rule {
		return []config.Rule{
			{Bad: s.MaxAge != 0 && !s.Split.On, Options: []string{"max-age", "split"}, Reason: "deletes closed files: needs --split"},
			{Bad: s.Snapshot && s.Split.On, Options: []string{"split", "snapshot"}, Reason: "leave out --split or --snapshot"},
		}
	}
	disk := group("Disk",
		config.Option{Name: "bz2", Short: "j", Value: config.Switch(&s.BZ2)},
		config.Option{Name: "lz4", Value: config.Switch(&s.LZ4)},
		config.Option{Name: "chunksize", Arg: "KiB", Default: "768", Value: config.To(&s.Chunksize, units.Int)},
		config.Option{Name: "buffsize", Short: "b", Arg: "MiB", Default: "256", Value: config.To(&s.Buffsize, units.Int, units.AtLeast(0, "Buffer size must be 0 or positive"))},
		config.Option{Name: "overflow", Default: "drop", Value: config.OneOf(&s.Overflow, "drop|block", "drop", "block")},
		config.Option{Name: "flush-interval", Arg: "TIME", Default: "1s", Value: config.To(&s.FlushInterval, units.Duration)},
		config.Option{Name: "snapshot", Value: config.Switch(&s.Snapshot)},
	)
	disk.Rules = func() []config.Rule {
		return []config.Rule{{Bad: s.BZ2 && s.LZ4, Options: []string{"bz2", "lz4"}, Reason: "leave out --bz2 or --lz4"}}
	}
	return &config.Program{
		Name: "gosample", Version: "test", Help: sampleHelp,
		Words: config.Words{Name: "topic", Option: "topic", Help: `Topics to record.`},
		Groups: []config.Group{what, files, disk, group("Network",
			config.Option{Name: "embedded-master", Arg: "HOST:PORT", Value: config.Address(&s.Master, masterAddress, false)},
			config.Option{Name: "http", Arg: "HOST:PORT", Value: config.Address(&s.HTTP, httpAddress, true)},
			config.Option{Name: "http-token", Arg: "TEXT", Secret: true, Value: config.Text(&s.Token)},
			config.Option{Name: "ros-master-uri", Env: "ROS_MASTER_URI", Arg: "URI", Value: config.Text(&s.MasterURI)},
			config.Option{Name: "allow-remote-shutdown", Default: "true", Value: config.Switch(&s.AllowRemoteShutdown)},
		), group("Configuration",
			config.Option{Name: "config", Arg: "FILE", Value: config.Text(&s.file)},
			config.Option{Name: "print-config", CommandLine: true, Value: config.Switch(new(bool))},
			config.Option{Name: "man", CommandLine: true, Value: config.Manual()},
		), group("", config.Option{Name: "version", CommandLine: true, Value: config.Version()})},
	}
}

const (
	masterAddress = "127.0.0.1:11311"
	httpAddress   = "127.0.0.1:8765"
)

// split is a switch that may have a number.
type split struct {
	On  bool
	MiB int
}

func readSplit(text string) (split, error) {
	if n, err := units.Int(text); err == nil {
		return split{true, n}, nil
	}
	on, err := units.Switch(text)
	return split{On: on}, err
}

func positive[N int | float64](topic string, n N) error {
	if topic == "" || n <= 0 {
		return errors.New("want TOPIC=N with a positive N")
	}
	return nil
}

// parseSample reads a command line.
func parseSample(args ...string) (*sample, *config.Settings, error) {
	s := new(sample)
	all, err := s.program().Parse(args)
	return s, all, err
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "robot.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// given returns what a command line sets: key and values of each option, but for words.
func given(args []string) (string, error) {
	_, all, err := parseSample(args...)
	var texts []string
	for _, s := range all.List() {
		if s.Origin == "flag" {
			texts = append(texts, s.Key+"="+strings.Join(s.Values, ","))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " "), err
}
