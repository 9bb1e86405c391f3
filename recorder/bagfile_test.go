package recorder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOutputPath(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.Local)
	tests := []struct {
		out  Output
		want string
	}{
		{Output{}, "2026-11-21-01-02-03.bag"},
		{Output{Prefix: "pre"}, "pre_2026-11-21-01-02-03.bag"},
		{Output{Prefix: "pre.bag"}, "pre_2026-11-21-01-02-03.bag"},
		{Output{Prefix: "dir/pre"}, "dir/pre_2026-11-21-01-02-03.bag"},
		{Output{Name: "x"}, "x.bag"},
		{Output{Name: "x.bag"}, "x.bag"},
		{Output{Name: "x.bag.bag"}, "x.bag.bag"},
		{Output{Name: "x.tar"}, "x.tar.bag"},
		{Output{Name: "x", Prefix: "pre"}, "x.bag"},
	}
	for _, tc := range tests {
		if got := tc.out.path(now); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.out, got, tc.want)
		}
	}
}

func TestCreateBagNeverOverwrites(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"finished bag": {func(dir string) error { return os.WriteFile(dir+"/x.bag", []byte("precious"), 0o600) }, "exists: a recording never overwrites"},
		"active bag":   {func(dir string) error { return os.WriteFile(dir+"/x.bag.active", []byte("precious"), 0o600) }, "another recorder writes it or one died"},
		"symlink":      {func(dir string) error { return os.Symlink("/dev/null", dir+"/x.bag.active") }, "exists"},
		"dangling":     {func(dir string) error { return os.Symlink("nothing", dir+"/x.bag") }, "exists"},
		"no directory": {os.Remove, "does not exist: create it first"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tc.prepare(dir); err != nil {
				t.Fatal(err)
			}
			_, err := createBag(Output{Name: filepath.Join(dir, "x")}, SyncNone, time.Now())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
			for _, name := range []string{"x.bag", "x.bag.active"} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) > 0 && string(b) != "precious" {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

func TestTargetThatAppearsMeanwhileIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	b, err := createBag(Output{Name: path}, SyncInterval, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".bag", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.finish(); err == nil || !strings.Contains(err.Error(), "the finished bag stays at") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(path + ".bag"); err != nil || string(got) != "precious" {
		t.Errorf("the other file holds %q, %v", got, err)
	}
	numbers(t, path+".bag.active") // can be read
}

func TestControlCharactersInNames(t *testing.T) {
	t.Parallel()
	if _, err := createBag(Output{Name: t.TempDir() + "/a\nb"}, SyncNone, time.Now()); err == nil {
		t.Error("a name with a line feed was accepted")
	}
}
