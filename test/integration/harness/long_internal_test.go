package harness

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestLongTests finds tests that run longer in the full run, through functions and methods too.
func TestLongTests(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(other, "harness.go"): "package harness\nfunc Python() { if Full() { all() } }\nfunc Bin() string { return \"\" }",
		filepath.Join(dir, "a_test.go"): `package a
func TestLong(t *testing.T) { harness.Long(t, "takes a minute") }
func TestCase(t *testing.T) { t.Run("x", func(t *testing.T) { if harness.Full() { t.Log() } }) }
func TestShort(t *testing.T) { harness.Bin() }
func TestComment(t *testing.T) { /* Long */ }
func (c *composition) up() { newComposition() }`,
		filepath.Join(dir, "b_test.go"): `package a
func newComposition() { harness.Long(nil, "") }
func TestMethod(t *testing.T) { c.up() }
func TestPython(t *testing.T) { for _, f := range fs { f() } }
var fs = []func(){harness.Python}
func FuzzShort(f *testing.F) {}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := longTests(dir, other)
	if want := []string{"TestCase", "TestLong", "TestMethod", "TestPython"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestPartOf: a case, and each part of the case, are parts of the case; other tests are not.
func TestPartOf(t *testing.T) {
	t.Parallel()
	var names sync.Map
	names.Store("TestA/b", true)
	for name, want := range map[string]bool{"TestA/b": true, "TestA/b/c/d": true, "TestA": false, "TestA/bc": false, "TestB/b": false} {
		if got := partOf(&names, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
