package topicmatch

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// CheckRegex returns why a text is not a regular expression in RE2 syntax, without the text
// itself; nil if it is one.
func CheckRegex(expr string) error {
	// expr alone first, so that the error is about the text that the user wrote
	for _, e := range []string{expr, whole(expr)} {
		_, err := regexp.Compile(e)
		var bad *syntax.Error
		if !errors.As(err, &bad) {
			continue
		}
		hint := ""
		switch {
		case strings.Contains(expr, "(?!") || strings.Contains(expr, "(?<!"):
			hint = "; to leave topics out use -x"
		case bad.Code == syntax.ErrMissingRepeatArgument:
			hint = "; any text is .*"
		}
		return fmt.Errorf("%v at %q: want a regular expression (RE2 syntax)%s", bad.Code, bad.Expr, hint)
	}
	return nil
}

// CheckGlob returns why a text is neither a name nor a glob of names, without the text itself; nil
// if it is one of them. [Glob] accepts a text that CheckGlob refuses, and the pattern then matches
// nothing.
func CheckGlob(text string) error {
	const want = "want a name, or a glob with *, **, ? and [ab]"
	if text == "" {
		return errors.New(want)
	}
	if i := strings.IndexAny(text, " \t\r\n,;()|^$\\+{}"); i >= 0 {
		return fmt.Errorf("%q is in no name: %s; regular expressions need -e where that is possible", text[i], want)
	}
	if strings.Contains(text, ".*") {
		return fmt.Errorf("%q is of regular expressions, no name has a dot: %s; any text without a slash is *", ".*", want)
	}
	for rest := text; ; {
		_, after, open := strings.Cut(rest, "[")
		if !open {
			return nil
		}
		set, tail, closed := strings.Cut(after, "]")
		switch {
		case !closed:
			return fmt.Errorf("the ] of %q is missing: %s", "["+after, want)
		case set == "":
			return fmt.Errorf("[] stands for nothing: %s", want)
		case strings.HasPrefix(set, "!"):
			return fmt.Errorf("[!…] is not known: %s", want)
		}
		if _, err := regexp.Compile("[" + set + "]"); err != nil {
			return fmt.Errorf("%q is no range, whose ends are in order, such as [0-9]: %s", "["+set+"]", want)
		}
		rest = tail
	}
}
