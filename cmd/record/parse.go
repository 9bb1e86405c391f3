package main

import (
	"fmt"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/program"
)

// parse reads the command line, the environment and the file into c, and the notes that they ask for.
// Its error has all that is wrong.
func parse(args []string, c *config.Record) ([]bagnote.Note, error) {
	err := config.Parse(name, config.RecordHelp, program.Version(), args, c)
	if err := c.Join(err, check(c)); err != nil {
		return nil, err
	}
	notes, err := bagnote.ParseNotes(c.Note)
	if err != nil {
		return nil, fmt.Errorf("--note: %w", err)
	}
	return notes, nil
}
