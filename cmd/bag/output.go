package main

import (
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/program"
)

// output is what a command is connected to.
type output struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	errs           *program.Errors // to stderr
	maxChunk       int64           // --max-chunk, in bytes
}

func newOutput(stdin io.Reader, stdout, stderr io.Writer) output {
	return output{stdin: stdin, stdout: stdout, stderr: stderr, errs: &program.Errors{W: stderr, Name: "gobag"}}
}

// to returns the output with other writers.
func (o output) to(stdout, stderr io.Writer) output {
	errs := *o.errs
	errs.W = stderr
	o.stdout, o.stderr, o.errs = stdout, stderr, &errs
	return o
}

// complain writes one line about a failure.
func (o output) complain(format string, args ...any) {
	o.errs.Print(fmt.Sprintf(format, args...))
}
