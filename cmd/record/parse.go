package main

import (
	"fmt"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/program"
)

// parse reads the command line into c, and the notes that it asks for.
func parse(args []string, c *config.Record) ([]bagnote.Note, error) {
	if err := config.Parse(name, config.RecordHelp, program.Version(), args, c); err != nil {
		return nil, err
	}
	notes, err := bagnote.ParseNotes(c.Note)
	if err != nil {
		return nil, fmt.Errorf("--note: %w", err)
	}
	return notes, nil
}
