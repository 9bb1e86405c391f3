package names

import (
	"strings"
)

const clipBytes = 256 // most bytes of a peer's text in the log

// Clip shortens a peer's text for the log. It returns a copy, so that the text can be freed.
func Clip(text string) string {
	if len(text) > clipBytes {
		return strings.Clone(text[:clipBytes])
	}
	return text
}
