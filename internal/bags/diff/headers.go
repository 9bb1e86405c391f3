// This file compares the connection headers of a topic in two bags. It is pure; the
// caller is package diff.

package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/rosbag"
)

// header is the connection header without the callerid. The fields that a bag may leave out are there.
type header map[string]string

func headerOf(c *rosbag.Connection) header {
	h := header{
		rosbag.KeyTopic: c.Topic, rosbag.KeyType: "", rosbag.KeyMD5Sum: "", rosbag.KeyLatching: "0",
		rosbag.KeyMessageDefinition: "",
	}
	for _, f := range slices.Backward(c.Header) { // the first one counts
		h[f.Key] = f.Value
	}
	delete(h, rosbag.KeyCallerID)
	return h
}

// CompareHeaders compares the headers of the connections that each bag has of a topic: the other bag must
// have each of them, too, and if publishers is set, of the same publisher.
func CompareHeaders(connsA, connsB []*rosbag.Connection, publishers bool) []report.Header {
	byName := func(conns []*rosbag.Connection) map[string][]header {
		m := make(map[string][]header)
		for _, conn := range conns {
			name := ""
			if publishers {
				name = conn.Header.CallerID()
			}
			if h := headerOf(conn); !contains(m[name], h) {
				m[name] = append(m[name], h)
			}
		}
		return m
	}
	a, b := byName(connsA), byName(connsB)
	names := keys(a, b)
	ofAll := func(m map[string][]header) (list []header) {
		for _, name := range names { // in order: of several that are as near, the first is compared
			list = append(list, m[name]...)
		}
		return list
	}
	var all []report.Header
	for _, name := range names {
		x, y := a[name], b[name]
		restX, restY := without(x, y), without(y, x)
		// A publisher without messages may be missing: nobody has heard of it.
		if len(y) == 0 {
			y = ofAll(b)
			restX, restY = without(x, y), nil
		} else if len(x) == 0 {
			x = ofAll(a)
			restX, restY = nil, without(y, x)
		}
		if len(names) == 1 {
			name = ""
		}
		all = append(all, pairHeaders(name, restX, restY, x, y)...)
	}
	return all
}

// keys returns the keys of two maps, sorted.
func keys[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Sorted(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func contains(list []header, h header) bool {
	return slices.ContainsFunc(list, func(x header) bool { return maps.Equal(x, h) })
}

// without returns the headers that others lack.
func without(list, others []header) []header {
	return slices.DeleteFunc(slices.Clone(list), func(h header) bool { return contains(others, h) })
}

// pairHeaders says in what the headers differ that only one bag has, restA and restB. Each one of A is
// compared with the nearest one of B, which is then taken. What is left over is compared with the nearest
// of all headers of the other bag.
func pairHeaders(publisher string, restA, restB, allA, allB []header) []report.Header {
	var list []report.Header
	for _, h := range restA {
		only, others := "", restB
		if len(restB) == 0 {
			only, others = "A", allB
		}
		other := nearest(h, others)
		list = append(list, changes(publisher, only, h, other)...)
		restB = without(restB, []header{other})
	}
	for _, h := range restB {
		list = append(list, changes(publisher, "B", nearest(h, allA), h)...)
	}
	return list
}

// nearest returns the header that differs least.
func nearest(h header, from []header) header {
	return slices.MinFunc(from, func(x, y header) int {
		return cmp.Compare(len(changes("", "", h, x)), len(changes("", "", h, y)))
	})
}

// changes lists the fields that differ, what matters most first.
func changes(publisher, only string, a, b header) []report.Header {
	fields := keys(a, b)
	slices.SortStableFunc(fields, func(x, y string) int { return cmp.Compare(rank(x), rank(y)) })
	var list []report.Header
	for _, k := range fields {
		x, inA := a[k]
		y, inB := b[k]
		h := report.Header{Publisher: publisher, OnlyIn: only, Field: k, A: x, B: y}
		switch {
		case x == y && inA == inB:
			continue
		case k == rosbag.KeyMessageDefinition:
			h.Field, h.A, h.B = definitionChange(x, y)
		case !inA:
			h.A = "absent"
		case !inB:
			h.B = "absent"
		}
		list = append(list, h)
	}
	return list
}

// rank sorts fields: what messages need most to be understood comes first.
func rank(field string) int {
	first := []string{
		rosbag.KeyType, rosbag.KeyMD5Sum, rosbag.KeyLatching, rosbag.KeyMessageDefinition,
		rosbag.KeyTopic,
	}
	if i := slices.Index(first, field); i >= 0 {
		return i
	}
	return len(first)
}

// definitionChange returns the first line in which definitions differ.
func definitionChange(a, b string) (field, lineA, lineB string) {
	if a == "" || b == "" {
		size := func(s string) string {
			if s == "" {
				return "absent"
			}
			return fmt.Sprintf("%d bytes", len(s))
		}
		return rosbag.KeyMessageDefinition, size(a), size(b)
	}
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	line := func(list []string) string {
		if n < len(list) {
			return list[n]
		}
		return "end of the definition"
	}
	return fmt.Sprintf("%s, line %d", rosbag.KeyMessageDefinition, n+1), line(x), line(y)
}
