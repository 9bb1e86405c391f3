package expr

import (
	"errors"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// lookupName is the name of the lookup function. The blank keeps expressions from calling it.
const lookupName = " lookup"

// path is a field that the expression uses.
type path struct {
	text     string
	optional bool // nil for a type without the field: it has a ?.
	uses     int  // in the expression; zero if the path is only the beginning of longer paths

	inPredicates int      // uses as a list of messages of which a predicate needs only some fields
	fields       []string // the fields that predicates need
	elements     []any    // maps for the elements of the list, which are used again for each message

	found   bool               // a type has the field
	missing *rosmsg.FieldError // error of a type without it

	message uint64 // the message that value and err belong to
	value   any
	err     error
}

// partly reports whether only p.fields of the elements of the list are needed.
func (p *path) partly() bool { return len(p.fields) > 0 && p.inPredicates == p.uses }

// element is a field of the elements of an array of messages, as x in any(m.list, .x > 1). It is the key
// of a map, and not looked up in the type, so a misspelled field would silently be nil.
type element struct {
	array string // "list"
	text  string // "x"

	found   bool
	missing *rosmsg.FieldError
}

// in looks for the field in the elements of a type. found is false and missing nil if the type has no
// such array.
func (e *element) in(t *rosmsg.Type) (found bool, missing *rosmsg.FieldError) {
	if _, err := t.Path(e.array + "[0]"); err != nil {
		return false, nil
	}
	_, err := t.Path(e.array + "[0]." + e.text)
	return !errors.As(err, &missing), missing
}

// lack returns that the elements of a type do not have the field.
func (e *element) lack(missing *rosmsg.FieldError) Lack {
	return Lack{"m." + e.array + "[…]." + e.text, missing.Reason, false}
}

// orNil returns the value or error of a missing field.
func (p *path) orNil(err error) (any, error) {
	if p.optional {
		return nil, nil // nil is the value
	}
	return nil, err
}

// patcher replaces m.a.b[0] by a call that looks up this one field, so that only fields that
// are evaluated are decoded.
type patcher struct {
	program *Program
	calls   map[ast.Node]int    // the number of the path that a call looks up
	members map[ast.Node]string // the path below # of each member of # in a predicate
	fields  map[ast.Node]string // the field of each # that is used; "" if more of # is used
}

// withoutElements are the functions that do not return elements of their list.
var withoutElements = []string{
	"all", "none", "any", "one", "count", "sum", "map", "findIndex",
	"findLastIndex",
}

// Visit sees the innermost nodes first: m becomes the lookup of the whole message,
// m.a extends it, and so on.
func (v *patcher) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "m" || n.Value == "msg" {
			v.replace(node, "", false)
		}
	case *ast.PointerNode:
		v.fields[n] = ""
	case *ast.BuiltinNode:
		v.predicate(n)
	case *ast.MemberNode:
		inner, ok := v.calls[n.Node]
		if !ok {
			v.member(n)
			return
		}
		at := v.program.paths[inner]
		at.optional = at.optional || n.Optional
		switch property := n.Property.(type) {
		case *ast.StringNode:
			if at.text != "" {
				at.text += "."
			}
			at.text += property.Value
		case *ast.IntegerNode:
			at.text += "[" + strconv.Itoa(property.Value) + "]"
		case *ast.UnaryNode:
			i, ok := property.Node.(*ast.IntegerNode)
			if !ok || property.Operator != "-" {
				return
			}
			at.text += "[-" + strconv.Itoa(i.Value) + "]"
		default:
			return // a computed index: the whole array is looked up
		}
		v.program.paths[inner].uses--
		v.replace(node, at.text, at.optional)
	}
}

// member records a field of #.
func (v *patcher) member(n *ast.MemberNode) {
	property, ok := n.Property.(*ast.StringNode)
	if !ok || n.Optional {
		return
	}
	text := property.Value
	if pointer, ok := n.Node.(*ast.PointerNode); ok && pointer.Name == "" {
		v.fields[pointer] = property.Value
	} else {
		outer, ok := v.members[n.Node]
		if !ok {
			return
		}
		text = outer + "." + text
	}
	v.members[n] = text
}

// predicate assigns the members of # in a predicate to its array. Inner predicates come first, so
// the remaining members belong to this one.
func (v *patcher) predicate(n *ast.BuiltinNode) {
	if len(n.Arguments) < 2 {
		return
	}
	i, known := v.calls[n.Arguments[0]]
	var fields []string
	partly := slices.Contains(withoutElements, n.Name)
	for _, arg := range n.Arguments[1:] {
		ast.Find(arg, func(inner ast.Node) bool {
			if field, ok := v.fields[inner]; ok {
				delete(v.fields, inner)
				partly = partly && field != ""
				fields = append(fields, field)
			}
			if text, ok := v.members[inner]; ok {
				delete(v.members, inner)
				if known {
					v.program.elements = append(v.program.elements,
						element{array: v.program.paths[i].text, text: text})
				}
			}
			return false
		})
	}
	if known && partly {
		at := &v.program.paths[i]
		at.inPredicates++
		for _, field := range fields {
			if !slices.Contains(at.fields, field) {
				at.fields = append(at.fields, field)
			}
		}
	}
}

func (v *patcher) replace(node *ast.Node, text string, optional bool) {
	p := v.program
	i := slices.IndexFunc(p.paths,
		func(known path) bool { return known.text == text && known.optional == optional })
	if i < 0 {
		i = len(p.paths)
		p.paths = append(p.paths, path{text: text, optional: optional})
	}
	p.paths[i].uses++
	call := &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: lookupName},
		Arguments: []ast.Node{&ast.IntegerNode{Value: i}},
	}
	ast.Patch(node, call)
	v.calls[call] = i
}
