package scene

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	maxFrames  = 2000
	maxSenders = 8 // publishers, and parents, of a frame
)

// TreeScene is the tree of frames.
type TreeScene struct {
	Kind Kind `json:"kind"`
	// Frames are in the order of the tree: each parent before its children.
	Frames []TreeFrame `json:"frames"`
	// Problems are what tf2 would complain about, in words.
	Problems []string `json:"problems,omitempty"`
	// More is how many frames are left out.
	More int `json:"more,omitempty"`
}

// TreeFrame is one frame of a tree.
type TreeFrame struct {
	Name   string `json:"name"`
	Parent string `json:"parent,omitempty"` // the last one, if there were several; empty for a root
	Depth  int    `json:"depth"`
	// Publishers are the nodes that send the frame.
	Publishers []string `json:"publishers,omitempty"`
	Static     bool     `json:"static,omitempty"`
	Count      int      `json:"count"`         // transforms
	Rate       float64  `json:"rate"`          // of them, in each second; 0 if it is not known
	Age        float64  `json:"age"`           // of the last one, in seconds
	Bad        bool     `json:"bad,omitempty"` // one of the problems is about it
}

// frame is what came of one frame.
type frame struct {
	name, parent        string
	parents, publishers []string // each once
	static              bool
	count               int
	first, last         rosbag.Time
}

// tree gathers transforms.
type tree struct {
	options Options
	frames  map[string]*frame
	newest  rosbag.Time
	left    map[string]bool // names that are left out, at most as many as there are frames
}

// Add implements Gatherer.
func (t *tree) Add(m Message) error {
	if t.options.after(m.Time) {
		return nil
	}
	list, err := m.Type.Lookup(m.Payload, "transforms")
	if err != nil {
		return err
	}
	if t.newest.Before(m.Time) {
		t.newest = m.Time
	}
	for v, err := range list.Elements() {
		if err != nil {
			return err
		}
		child, err1 := v.Field("child_frame_id")
		header, err2 := v.Field("header")
		if err1 != nil || err2 != nil {
			return fmt.Errorf("transform without frames: %w", ErrCorrupt)
		}
		parent, err := header.Field("frame_id")
		if err != nil {
			return err
		}
		t.add(frameName(child), frameName(parent), m)
	}
	return nil
}

// frameName returns the name of a frame. Those of tf have a slash that tf2 leaves out.
func frameName(v rosmsg.Value) string { return strings.TrimPrefix(cut(v), "/") }

func (t *tree) add(child, parent string, m Message) {
	f := t.frames[child]
	if f == nil {
		if len(t.frames) >= maxFrames {
			if t.left == nil {
				t.left = make(map[string]bool)
			}
			if len(t.left) < maxFrames {
				t.left[child] = true
			}
			return
		}
		f = &frame{name: child, first: m.Time}
		t.frames[child] = f
	}
	f.count++
	f.parent, f.static, f.last = parent, m.Static, m.Time
	f.parents = with(f.parents, parent)
	f.publishers = with(f.publishers, m.Publisher)
}

// with returns list with s, if it is not there and there is room.
func with(list []string, s string) []string {
	if slices.Contains(list, s) || len(list) >= maxSenders {
		return list
	}
	return append(list, s)
}

// Scene implements Gatherer.
func (t *tree) Scene() any {
	s := &TreeScene{Kind: Tree, Frames: []TreeFrame{}, More: len(t.left)}
	children := make(map[string][]string)
	var roots []string
	for name, f := range t.frames {
		children[f.parent] = append(children[f.parent], name)
		if t.frames[f.parent] == nil && !slices.Contains(roots, f.parent) {
			roots = append(roots, f.parent)
		}
	}
	slices.Sort(roots)
	placed := make(map[string]bool)
	for _, root := range roots {
		s.Frames = append(s.Frames, TreeFrame{Name: root})
		t.place(s, root, 1, children, placed)
	}
	t.loops(s, children, placed)
	if len(roots) > 1 {
		s.Problems = append(s.Problems,
			fmt.Sprintf("there are %d trees that nothing connects: below %s", len(roots), wordList(roots)))
	}
	for i := range s.Frames {
		if f := t.frames[s.Frames[i].Name]; f != nil && len(f.parents) > 1 {
			s.Frames[i].Bad = true
			s.Problems = append(s.Problems,
				fmt.Sprintf("%s has several parents: %s", f.name, wordList(f.parents)))
		}
		if f := t.frames[s.Frames[i].Name]; f != nil && len(f.publishers) > 1 && !f.static {
			s.Frames[i].Bad = true
			s.Problems = append(s.Problems,
				fmt.Sprintf("%s has several publishers: %s", f.name, wordList(f.publishers)))
		}
	}
	if len(s.Problems) > maxProblems {
		more := len(s.Problems) - maxProblems
		s.Problems = append(s.Problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return s
}

// maxProblems is how many problems are told.
const maxProblems = 20

// place adds the frames below a parent. It does not call itself: a tree may be as deep as it has frames.
func (t *tree) place(s *TreeScene, parent string, depth int, children map[string][]string,
	placed map[string]bool,
) {
	type level struct {
		names []string
		depth int
	}
	sorted := func(names []string) []string {
		slices.Sort(names)
		return names
	}
	stack := []level{{sorted(children[parent]), depth}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.names) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		f, depth := t.frames[top.names[0]], top.depth
		top.names = top.names[1:]
		if placed[f.name] {
			continue
		}
		placed[f.name] = true
		s.Frames = append(s.Frames, t.row(f, depth))
		stack = append(stack, level{sorted(children[f.name]), depth + 1})
	}
}

func (t *tree) row(f *frame, depth int) TreeFrame {
	row := TreeFrame{
		Name: f.name, Parent: f.parent, Depth: depth, Publishers: slices.Clone(f.publishers),
		Static: f.static, Count: f.count,
	}
	if took := f.last.Sub(f.first).Seconds(); took > 0 {
		row.Rate = float64(f.count-1) / took
	}
	now := t.newest
	if !t.options.At.IsZero() {
		now = t.options.At
	}
	row.Age = now.Sub(f.last).Seconds()
	return row
}

// loops adds the frames that no root leads to, and says which of them follow each other in a circle.
func (t *tree) loops(s *TreeScene, children map[string][]string, placed map[string]bool) {
	var rest []string
	for name := range t.frames {
		if !placed[name] {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range rest {
		if placed[name] {
			continue
		}
		// Each of them has a parent among them, so that the way up ends in a circle.
		seen := make(map[string]bool)
		at := name
		for !seen[at] {
			seen[at] = true
			at = t.frames[at].parent
		}
		loop := []string{at}
		for next := t.frames[at].parent; next != at; next = t.frames[next].parent {
			loop = append(loop, next)
		}
		slices.Reverse(loop)
		from := len(s.Frames)
		placed[at] = true
		s.Frames = append(s.Frames, t.row(t.frames[at], 0))
		t.place(s, at, 1, children, placed)
		for i := from; i < len(s.Frames); i++ {
			s.Frames[i].Bad = s.Frames[i].Bad || slices.Contains(loop, s.Frames[i].Name)
		}
		s.Problems = append(s.Problems,
			"a loop, in which each is the parent of the next: "+wordList(append(loop, loop[0])))
	}
}

// wordList lists names, of many the first ones.
func wordList(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
