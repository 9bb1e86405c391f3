// Package tree makes the tree of a message that a page shows: its fields with names, types and values,
// arrays in pages, long texts cut with their length.
//
// It computes, from one payload. Whatever the message is, the tree has at most MaxNodes nodes and
// MaxDepth levels.
package tree

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/view/plot"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Limits of a tree.
const (
	MaxNodes  = 3000
	MaxDepth  = 32
	PageSize  = 100     // elements of the array that is asked for
	fewValues = 20      // elements of other arrays
	fewNodes  = 5       // the same of arrays of messages and of arrays
	maxText   = 2 << 10 // bytes of a text
	longText  = 64 << 10
	maxBytes  = 64 // of an array of bytes
)

// Node is a value of a message.
type Node struct {
	Name  string `json:"name"` // of the field, or the index of the element
	Type  string `json:"type"`
	Path  string `json:"path"`            // as plot.Compile reads it
	Text  string `json:"text,omitempty"`  // of a value, or the first bytes of an array of bytes
	Cut   int    `json:"cut,omitempty"`   // length of the whole text in bytes, if it was cut
	Plot  bool   `json:"plot,omitempty"`  // the value can be plotted
	Len   *int   `json:"len,omitempty"`   // elements of an array
	From  int    `json:"from,omitempty"`  // number of the first element that is in Nodes
	Nodes []Node `json:"nodes,omitempty"` // fields, or elements
	Note  string `json:"note,omitempty"`  // what is missing here, and why
}

// Make returns the tree of a payload. A payload that does not fit its type gives the tree up to there,
// and an error. With a path it returns the value there: a page of PageSize elements of an array from one
// on, and a text of up to 64 KiB.
func Make(t *rosmsg.Type, payload []byte, path string, from int) (Node, error) {
	b := builder{left: MaxNodes}
	v := t.Message(payload)
	if path != "" {
		var err error
		if v, err = t.Lookup(payload, path); err != nil {
			return Node{}, err
		}
	}
	b.page, b.from, b.asked = path, max(from, 0), path != ""
	n := b.node(path, path, v, 0)
	return n, b.err
}

type builder struct {
	left  int
	page  string // path of what is asked for
	from  int
	asked bool
	err   error // the first one
}

func (b *builder) failed(err error) bool {
	if err != nil && b.err == nil {
		b.err = err
	}
	return err != nil
}

func (b *builder) node(name, path string, v rosmsg.Value, depth int) Node {
	b.left--
	n := Node{Name: name, Type: v.Type(), Path: path}
	//exhaustive:ignore
	switch v.Kind() {
	case rosmsg.Struct:
		b.fields(&n, v, depth)
	case rosmsg.Array:
		b.elements(&n, v, depth)
	case rosmsg.String:
		n.Plot = true
		limit := maxText
		if b.asked && path == b.page {
			limit = longText
		}
		text := v.Bytes()
		if len(text) > limit {
			n.Cut = len(text)
			text = text[:limit]
		}
		n.Text = strings.ToValidUTF8(string(text), "\uFFFD")
	default:
		n.Plot = true
		n.Text = plot.Format(v)
	}
	return n
}

// full notes on a node that there is no room for what is in it.
func (b *builder) full(n *Node, depth int) bool {
	switch {
	case depth >= MaxDepth:
		n.Note = fmt.Sprintf("deeper than %d levels: not shown", MaxDepth)
	case b.left <= 0:
		n.Note = "too much for one page: open it alone"
	default:
		return false
	}
	return true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (b *builder) fields(n *Node, v rosmsg.Value, depth int) {
	if b.full(n, depth) {
		return
	}
	names := elementNames(v)
	for f, err := range v.Members() {
		if b.failed(err) {
			n.Note = "the payload ends here, or does not fit its definition"
			return
		}
		if b.left <= 0 {
			n.Note = "too much for one page: open it alone"
			return
		}
		child := b.node(f.Name, join(n.Path, f.Name), f.Value, depth+1)
		if names != nil && f.Value.Kind() == rosmsg.Array && f.Name != "name" && !f.Value.OfMessages() &&
			f.Value.Len() == len(names) {
			for i := range child.Nodes {
				e := &child.Nodes[i]
				name := names[child.From+i]
				e.Name += " " + name
				if !strings.ContainsAny(name, "{}") {
					e.Path = child.Path + "{" + name + "}"
				}
			}
		}
		n.Nodes = append(n.Nodes, child)
	}
	if n.Type == "geometry_msgs/Quaternion" {
		yaw := Node{Name: "yaw", Type: "degrees", Path: n.Path + ":yaw", Plot: true}
		if text, err := plot.Yaw(v); err == nil {
			yaw.Text = text
		}
		n.Nodes = append(n.Nodes, yaw)
	}
}

// elementNames returns the names of elements that a message has for its other arrays, as
// sensor_msgs/JointState.
func elementNames(v rosmsg.Value) (names []string) {
	field, err := v.Field("name")
	if err != nil || field.Type() != "string[]" || field.Len() > 10*PageSize {
		return nil
	}
	for e, err := range field.Elements() {
		if err != nil {
			return nil
		}
		names = append(names, strings.ToValidUTF8(e.Text(), "\uFFFD"))
	}
	return names
}

func (b *builder) elements(n *Node, v rosmsg.Value, depth int) {
	size := v.Len()
	n.Len = &size
	isPage := b.asked && n.Path == b.page
	if raw := v.Bytes(); raw != nil && !isPage {
		n.Text = hex.EncodeToString(raw[:min(len(raw), maxBytes)])
		if len(raw) > maxBytes {
			n.Text += "…"
		}
		return
	}
	if b.full(n, depth) {
		return
	}
	most := fewValues
	switch {
	case isPage:
		n.From, most = min(b.from, size), PageSize
	case v.OfMessages():
		most = fewNodes
	}
	if raw := v.Bytes(); raw != nil {
		for i := n.From; i < min(size, n.From+most); i++ {
			n.Nodes = append(n.Nodes,
				Node{
					Name: strconv.Itoa(i), Type: "uint8", Path: fmt.Sprintf("%s[%d]", n.Path, i),
					Text: strconv.Itoa(int(raw[i])), Plot: true,
				})
		}
		return
	}
	i := 0
	for e, err := range v.Elements() {
		if i >= n.From+most || b.left <= 0 {
			break
		}
		if b.failed(err) {
			n.Note = "the payload ends here, or does not fit its definition"
			break
		}
		if i >= n.From {
			n.Nodes = append(n.Nodes, b.node(strconv.Itoa(i), fmt.Sprintf("%s[%d]", n.Path, i), e, depth+1))
		}
		i++
	}
}

// ErrTooLarge says that a message is too large to be copied as JSON.
var ErrTooLarge = errors.New("the message is too large for the clipboard: use gobag echo --json")

// maxCopied is the largest payload that is copied.
const maxCopied = 4 << 20

// JSON returns a payload as JSON, as gobag echo --json prints it.
func JSON(t *rosmsg.Type, payload []byte) ([]byte, error) {
	if len(payload) > maxCopied {
		return nil, ErrTooLarge
	}
	b, err := t.AppendJSON(nil, payload)
	if errors.Is(err, rosmsg.ErrTrailing) {
		err = nil
	}
	return b, err
}
