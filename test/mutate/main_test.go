package main

import (
	"os"
	"testing"
)

// TestAreas: each area names a package and files that exist.
func TestAreas(t *testing.T) {
	t.Chdir("../..")
	for _, a := range areas {
		if st, err := os.Stat(a.dir); err != nil || !st.IsDir() {
			t.Errorf("%s: no directory %s", a.name, a.dir)
		}
		if _, err := a.others(); err != nil {
			t.Error(err)
		}
	}
}
