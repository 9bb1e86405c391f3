package info

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/pytext"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// ErrNoKey says that a summary has no such key.
var ErrNoKey = errors.New("no such key")

// keyRE is a path into the YAML: duration, topics, topics[0], topics[-1].type.
var keyRE = lazyre.New(`^(\w+)(?:\[(-?\d+)\](?:\.(\w+))?)?$`)

// WriteKey writes what rosbag info --yaml --key prints: one value of the YAML, an
// item, or a list.
func (i *Info) WriteKey(w io.Writer, key string) error {
	text, ok := i.key(key)
	if !ok {
		return fmt.Errorf("%w: %q; there are for example duration, topics and topics[0].type", ErrNoKey, key)
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}

func (i *Info) key(key string) (text string, ok bool) {
	m := keyRE().FindStringSubmatch(key)
	if m == nil {
		return "", false
	}
	p := find(i.pairs(), m[1])
	if p == nil || p.items == nil && m[2] != "" {
		return "", false
	}
	if p.items == nil {
		return yamlLoaded(p), true
	}
	if m[2] == "" {
		var b strings.Builder
		for _, item := range p.items {
			b.WriteString("- " + itemText(item, "  ") + "\n")
		}
		return b.String(), true
	}
	n, err := strconv.Atoi(m[2])
	if n < 0 {
		n += len(p.items)
	}
	if err != nil || n < 0 || n >= len(p.items) {
		return "", false
	}
	if m[3] == "" {
		return itemText(p.items[n], ""), true
	}
	if p = find(p.items[n], m[3]); p == nil {
		return "", false
	}
	return yamlLoaded(p), true
}

func find(list []pair, key string) *pair {
	for n := range list {
		if list[n].key == key {
			return &list[n]
		}
	}
	return nil
}

func itemText(item []pair, indent string) string {
	var lines []string
	for n := range item {
		lines = append(lines, item[n].key+": "+yamlLoaded(&item[n]))
	}
	return strings.Join(lines, "\n"+indent)
}

// yamlLoaded returns a value as rosbag info --key prints it. That program loads its own YAML, so that of the
// zeros at the end of a number with decimals one is left at most.
func yamlLoaded(p *pair) string {
	if p.from != ours {
		return wording.Escape(p.value)
	}
	switch p.key {
	case "duration", "start", "end", "frequency":
		if f, err := strconv.ParseFloat(p.value, 64); err == nil {
			return string(pytext.AppendFloat(nil, f))
		}
	}
	return p.value
}
