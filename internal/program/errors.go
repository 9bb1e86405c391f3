package program

import (
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Errors prints the errors of a program for its user: each error is one line that begins with the name of
// the program. Texts are printed unchanged, so errors have no prefix of a package (ADR 0066).
type Errors struct {
	W    io.Writer
	Name string // of the program
	JSON bool   // --log-format json
}

// Fail prints err and returns code, which is the exit code for it. The errors of a configuration are
// lines of their own.
func (e *Errors) Fail(code int, err error) int {
	all := config.Errors{err}
	errors.As(err, &all)
	for i, err := range all {
		if i == maxErrors {
			e.Print("and " + wording.Plural(len(all)-i, "more error"))
			break
		}
		e.Print(err.Error())
	}
	return code
}

// maxErrors is the number of errors of a configuration that are printed: the file may be something else
// altogether.
const maxErrors = 50

// Print prints a text as one line. Characters that could control a terminal are escaped.
func (e *Errors) Print(text string) {
	text = loglimit.Cut(wording.EscapeLine(text), loglimit.MaxLine-256)
	if e.JSON {
		zap.New(zapcore.NewCore(encoder(true), zapcore.AddSync(e.W), zap.ErrorLevel)).Error(text,
			zap.String("program", e.Name))
		return
	}
	fmt.Fprintf(e.W, "%s: %s\n", e.Name, text) //nolint:errcheck // the error cannot be reported elsewhere
}
