package names

import (
	"fmt"
	"strings"
)

// AnyType stands for a type that is not known, or that does not matter.
const AnyType = "*"

// CheckType refuses invalid type names. They are sent to the master through an encoder that
// does not escape, and may come from a hostile bag.
func CheckType(typ string) error {
	if typ == AnyType {
		return nil
	}
	ok := len(typ) <= MaxBytes && strings.Count(typ, "/") <= 1
	for _, c := range typ {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("_/-.", c))
	}
	if !ok {
		return &NameError{fmt.Sprintf("%.80s", typ), "not a message type"}
	}
	return nil
}
