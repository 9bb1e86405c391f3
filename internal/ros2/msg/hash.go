package msg

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// typeIDs are the numbers of type_description_interfaces/msg/FieldType.
var typeIDs = [...]int{
	Message: 1, Int8: 2, Uint8: 3, Int16: 4, Uint16: 5, Int32: 6, Uint32: 7, Int64: 8, Uint64: 9, Float32: 10,
	Float64: 11, Bool: 15, Byte: 16, String: 17, WString: 18,
}

// What is added to the number of a type for a bounded string, and for arrays.
const (
	boundedText       = 4
	fixedArray        = 48
	boundedSequence   = 96
	unboundedSequence = 144
)

// Hash returns the hash by which ROS 2, since Iron, tells versions of a type apart: "RIHS01_" and 64
// hexadecimal digits. Constants and defaults do not count.
func (t *Type) Hash() string {
	all := t.Dependencies()
	slices.SortFunc(all, func(a, b *Type) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(`{"type_description": `)
	t.describe(&b)
	b.WriteString(`, "referenced_type_descriptions": [`)
	for i, m := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		m.describe(&b)
	}
	b.WriteString("]}")
	sum := sha256.Sum256([]byte(b.String()))
	return "RIHS01_" + hex.EncodeToString(sum[:])
}

// describe writes the type as JSON. Names need no escapes: they are letters, digits,
// underscores and slashes.
func (t *Type) describe(b *strings.Builder) {
	fmt.Fprintf(b, `{"type_name": "%s", "fields": [`, t.Name)
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		v := f.Value
		id, capacity, nested := typeIDs[v.Kind], 0, ""
		if v.Kind == Message {
			nested = v.Message.Name
		}
		if v.Bound > 0 {
			id += boundedText
		}
		switch v.Array {
		case Single:
		case Fixed:
			id, capacity = id+fixedArray, v.Length
		case Bounded:
			id, capacity = id+boundedSequence, v.Length
		case Unbounded:
			id += unboundedSequence
		}
		fmt.Fprintf(b, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, "nested_type_name": "%s"}}`,
			f.Name, id, capacity, v.Bound, nested)
	}
	if len(t.Fields) == 0 {
		b.WriteString(`{"name": "structure_needs_at_least_one_member", "type": {"type_id": 3, "capacity": 0, "string_capacity": 0, "nested_type_name": ""}}`)
	}
	b.WriteString("]}")
}
