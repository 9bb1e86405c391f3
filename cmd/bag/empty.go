package main

import (
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/explain"
)

// emptyFlags say whether a command that selects nothing fails.
type emptyFlags struct {
	AllowEmpty bool `name:"allow-empty" help:"If nothing is selected, succeed, and write an empty bag if one is to be written. Otherwise that is an error."`
}

// refuse returns an error if a command has selected no message of in, unless that is allowed.
func (f emptyFlags) refuse(selected uint64, in *bagopen.Recording) error {
	if selected > 0 || f.AllowEmpty {
		return nil
	}
	what := explain.Name(in.Name)
	if in.Bag != nil && in.Bag.End() != (bagfmt.Time{}) {
		what += fmt.Sprintf(", which lasts %.1f s from @%s on", in.Bag.End().Sub(in.Bag.Start()).Seconds(), in.Bag.Start())
	}
	return fmt.Errorf("nothing is selected of %s; --allow-empty allows that", what)
}
