package topicmatch

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// star matches a * that repeats a character of a name, with that character and the character
// before. In a glob, the * stands for any text.
var star = lazyre.New(`(^|[^\\])([\w/])\*`)

// GlobLike returns a warning about a regular expression that is meant to be a glob, such as
// /camera/*, in which the * repeats the slash. The warning is empty for other expressions. option
// is the option with which the user gave the expression.
func GlobLike(option, expr string) string {
	if CheckRegex(expr) != nil || !star().MatchString(expr) {
		return ""
	}
	meant := star().ReplaceAllString(expr, "$1$2.*")
	text := fmt.Sprintf("%s %s is a regular expression, in which * repeats the character before it", option, expr)
	none, one := star().ReplaceAllString(expr, "$1"), star().ReplaceAllString(expr, "$1$2")
	if regexp.QuoteMeta(none) == none { // the rest of the expression has no special characters
		text += fmt.Sprintf(": it matches %s, %s and %s", none, one, star().ReplaceAllString(expr, "$1$2$2"))
		if strings.HasSuffix(expr, "/*") {
			text += ", but nothing below " + none
		}
	}
	return text + fmt.Sprintf("; for any text write .*, as in %s", meant)
}
