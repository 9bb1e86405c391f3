package mapping_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosmsg"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the definitions made up; 0 means a new one")

func newMaker(t *testing.T) *maker {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	return &maker{r: rand.New(rand.NewPCG(seed, 0))}
}

// TestRandomDefinitions converts messages of random types and compares them with what was
// written value by value.
func TestRandomDefinitions(t *testing.T) {
	t.Parallel()
	m := newMaker(t)
	mapper := newMapper(t, mapping.Jazzy, mapping.Options{})
	for range 500 {
		m.types = nil
		d := m.definition(3)
		text := d.text()
		there := to2(t, mapper, d.name, text)
		back := to1(t, mapper, there.Type, there.Schema)
		if one, err := rosmsg.Parse(d.name, text); err != nil || !strings.Contains(text, "char") && one.MD5Sum() != back.MD5Sum {
			t.Fatalf("md5sum %s, want %s (%v) of\n%s", back.MD5Sum, one.MD5Sum(), err, text)
		}
		for range 3 {
			w := &written{}
			m.message(d, w)
			want := append([]byte{0, 1, 0, 0}, w.little...)
			got, err := there.Append(nil, w.ros1, nil)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("to ROS 2: %x (%v), want %x, of\n%s", got, err, want, text)
			}
			for _, source := range [][]byte{want, append([]byte{0, 0, 0, 0}, w.big...)} {
				if got, err = back.Append(nil, source, nil); err != nil || !bytes.Equal(got, w.ros1) {
					t.Fatalf("to ROS 1: %x (%v), want %x, of\n%s", got, err, w.ros1, text)
				}
			}
		}
	}
}

// TestFastCDR compares with what eProsima's Fast-CDR writes, the library that most of
// ROS 2 uses. Padding is masked: Fast-CDR leaves there what was in its buffer.
func TestFastCDR(t *testing.T) {
	t.Parallel()
	program := fastCDR(t)
	m := newMaker(t)
	mapper := newMapper(t, mapping.Jazzy, mapping.Options{})
	var script bytes.Buffer
	var ours, texts []string
	var padding [][]bool
	n := 200
	if testkit.Full() {
		n = 2000
	}
	for range n {
		m.types = nil
		d, w := m.definition(3), &written{}
		m.message(d, w)
		got, err := to2(t, mapper, d.name, d.text()).Append(nil, w.ros1, nil)
		if err != nil {
			t.Fatal(err)
		}
		ours, texts, padding = append(ours, hex.EncodeToString(got)), append(texts, d.text()), append(padding, w.padding)
		fmt.Fprintf(&script, "%s\n.\n", strings.Join(w.script, "\n"))
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = &script
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(theirs) != len(ours) {
		t.Fatalf("%d messages of Fast-CDR, want %d", len(theirs), len(ours))
	}
	for i := range theirs {
		b, err := hex.DecodeString(theirs[i])
		if err != nil || len(b) != len(padding[i])+4 {
			t.Fatalf("Fast-CDR: %s (%v), ours %s, of\n%s", theirs[i], err, ours[i], texts[i])
		}
		for k, pad := range padding[i] {
			if pad {
				b[4+k] = 0
			}
		}
		if diff := cmp.Diff(hex.EncodeToString(b), ours[i]); diff != "" {
			t.Fatalf("-Fast-CDR +ours\n%s of\n%s", diff, texts[i])
		}
	}
}

// fastCDR builds the program that writes with Fast-CDR, or skips the test.
func fastCDR(t *testing.T) string {
	t.Helper()
	testkit.SkipWithoutROS(t)
	program := filepath.Join(t.TempDir(), "fastcdr")
	out, err := exec.CommandContext(t.Context(), "g++", "-o", program, "testdata/fastcdr.cpp", "-lfastcdr").CombinedOutput()
	if err != nil {
		testkit.Missing(t, fmt.Sprintf("the program with Fast-CDR does not build (Debian 12: apt-get install g++ libfastcdr-dev): %v\n%s", err, out))
	}
	return program
}
