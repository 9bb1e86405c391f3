package mapping

import "fmt"

// Change is the kind of a [Note].
type Change string

// The kinds of changes.
const (
	TypeRenamed     Change = "type renamed"
	TypeMigrated    Change = "type migrated" // an old definition was brought to the one of today
	FieldRenamed    Change = "field renamed"
	FieldDropped    Change = "field dropped" // the other side has no such field
	FieldAdded      Change = "field added"   // messages have it empty
	ConstantRenamed Change = "constant renamed"
	ConstantDropped Change = "constant dropped"
)

// Note says what a conversion changes in every message of a type. Values that change only
// in some messages are in [Counts].
type Note struct {
	Change Change
	Type   string // whose definition changes, as it is called in the source
	From   string // name in the source; empty for what is added
	To     string // name in the result; empty for what is dropped
}

// String returns the note as a line of a report.
func (n Note) String() string {
	switch n.Change {
	case TypeRenamed:
		return fmt.Sprintf("%s: type is %s", n.Type, n.To)
	case TypeMigrated:
		return fmt.Sprintf("%s: old definition, fields are matched by name", n.Type)
	case FieldRenamed:
		return fmt.Sprintf("%s: field %s is %s", n.Type, n.From, n.To)
	case FieldDropped:
		return fmt.Sprintf("%s: field %s is dropped", n.Type, n.From)
	case FieldAdded:
		return fmt.Sprintf("%s: field %s is added, empty", n.Type, n.To)
	case ConstantRenamed:
		return fmt.Sprintf("%s: constant %s is %s", n.Type, n.From, n.To)
	case ConstantDropped:
		return fmt.Sprintf("%s: constant %s is dropped", n.Type, n.From)
	}
	return fmt.Sprintf("%s: %s", n.Type, n.Change)
}
