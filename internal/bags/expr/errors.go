package expr

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/file"
)

// ErrExpression is matched by errors about the text of an expression, and by type errors of
// an evaluation, such as a comparison of a string with a number.
var ErrExpression = errors.New("unusable expression")

// ExpressionError says what is wrong with an expression, and where.
type ExpressionError struct {
	Line, Column int // counted from 1; 0 if unknown
	Reason       string
	Snippet      string // the line with the position marked below; may be empty
	Err          error
}

func (e *ExpressionError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%d:%d: %s%s", e.Line, e.Column, e.Reason, e.Snippet)
}

// Is matches [ErrExpression].
func (e *ExpressionError) Is(target error) bool { return target == ErrExpression }

func (e *ExpressionError) Unwrap() error { return e.Err }

// explain converts an error of the expression library to an ExpressionError.
func explain(err error) error {
	var f *file.Error
	if errors.As(err, &f) {
		reason := reworded(f.Message)
		if strings.HasPrefix(f.Message, "invalid number of arguments (expected 1, got ") &&
			strings.Contains(f.Snippet, "round(") {
			reason += ": write round(x * 100) / 100 for round(x, 2)"
		}
		return &ExpressionError{
			Line: f.Line, Column: f.Column + 1, Reason: reason, Snippet: f.Snippet,
			Err: f.Prev,
		}
	}
	return &ExpressionError{Reason: err.Error(), Err: err}
}

// token matches what the library says of a token that it does not expect: its kind and text.
var token = regexp.MustCompile(`^unexpected token [A-Za-z]+\((".*")\)`)

// reworded returns an error text of the library without the terms of its parser.
func reworded(text string) string {
	switch m := token.FindStringSubmatch(text); {
	case m != nil && m[1] == `"="`:
		return `unexpected "=": write == to compare`
	case m != nil:
		return "unexpected " + m[1]
	case strings.HasPrefix(text, "unexpected token EOF"), text == "unexpected end of expression":
		return "incomplete"
	case strings.HasPrefix(text, "invalid operation: in (") && strings.HasSuffix(text, " and string)"),
		text == `operator "in" not defined on string`:
		return `"in" finds an element of a list: to find a part of a text write TEXT contains PART, such as topic contains "imu"`
	case strings.ContainsAny(text, "“”‘’„«»"):
		return text + `: write text between " or '`
	}
	return text
}
