package bag_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// encrypt lets stock encrypt a copy of a bag for a user, in the directory of g.
func encrypt(g *harness.Graph, from, name, user string, args ...string) (path string) {
	g.T.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		g.T.Fatal(err)
	}
	path = filepath.Join(g.Dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		g.T.Fatal(err)
	}
	g.Run("rosbag", append([]string{"encrypt", "-q", "-r", user, path}, args...)...)
	if err := os.Remove(strings.TrimSuffix(path, ".bag") + ".orig.bag"); err != nil {
		g.T.Fatal(err) // stock's backup
	}
	return path
}

// TestEncrypted reads and decrypts bags that stock has encrypted, and compares with what
// stock makes of them.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock's tools in Python and gpg for seconds")
	harness.NeedROS(t)
	plain := bags.Demo(t)
	keys := harness.NewKeyring(t)
	keys.AddKey("Ann Example <ann@example.org>", "")
	for name, encrypted := range map[string]func(g *harness.Graph) string{
		"none": func(g *harness.Graph) string { return encrypt(g, plain, "in.bag", "Ann Example") },
		"lz4":  func(g *harness.Graph) string { return encrypt(g, plain, "in.bag", "Ann Example", "--lz4") },
		"bz2":  func(g *harness.Graph) string { return encrypt(g, plain, "in.bag", "Ann Example", "--bz2") },
		"python": func(g *harness.Graph) string {
			g.Run("python3", g.Script("encrypt.py"), plain, "in.bag", "Ann Example")
			return filepath.Join(g.Dir, "in.bag")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir(), Env: keys.Env()}
			in := encrypted(g)
			before, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			if out := g.Run("gobag", "check", "--deep", in); !strings.Contains(out, "sound: version 2.0, encrypted, 2163 messages") {
				t.Errorf("check: %s", out)
			}
			for _, args := range [][]string{{"info", in}, {"info", "-y", in}} {
				if d := gocmp.Diff(g.Run("rosbag", args...), g.Run("gobag", args...)); d != "" {
					t.Errorf("%v differs (-stock +ours):\n%s", args, d)
				}
			}
			want := g.Run("gobag", "echo", "-p", "-n", "100", plain, "/odom", "/tf")
			if got := g.Run("gobag", "echo", "-p", "-n", "100", in, "/odom", "/tf"); len(want) < 10_000 || got != want {
				t.Errorf("echo prints %d bytes, of the plain bag %d, or others", len(got), len(want))
			}
			if err := os.Mkdir(filepath.Join(g.Dir, "out"), 0o700); err != nil {
				t.Fatal(err)
			}
			g.Run("gobag", "decrypt", "--output-dir", "out", in)
			if after, err := os.ReadFile(in); err != nil || !bytes.Equal(after, before) {
				t.Fatalf("the input has changed, %v", err)
			}
			original := plain
			if name == "python" { // which makes one connection of the publishers of a topic
				g.Run("rosbag", "decrypt", "-q", in)
				original = in
			}
			g.Env = nil // what was made needs no key
			if d := gocmp.Diff(bags.Dump(g, original), bags.Dump(g, "out/in.bag")); d != "" {
				t.Errorf("stock reads other things than were encrypted (-want +got):\n%.2000s", d)
			}
		})
	}
}

// TestEncryptedPassphrase: what is needed is told, nothing hangs, and the passphrase is
// nowhere but where the user has put it.
func TestEncryptedPassphrase(t *testing.T) {
	t.Parallel()
	harness.Long(t, "gpg makes two keys, and stock encrypts")
	harness.NeedROS(t)
	const passphrase = "correct-horse-battery-staple"
	keys, others := harness.NewKeyring(t), harness.NewKeyring(t)
	keys.AddKey("Bob Example", passphrase)
	g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir(), Env: keys.Env()}
	in := encrypt(g, bags.Demo(t), "in.bag", "Bob Example", "--lz4")
	keys.KillAgent() // it may know the passphrase of a new key
	info := func(env ...string) (code int, said string) {
		g.Env = append(keys.Env(), env...)
		p := g.Start("gobag", "info", in)
		return p.Wait(), p.Out.String()
	}
	for _, step := range []struct {
		name string
		env  []string
		says string // empty: it works
	}{
		{"locked", nil, "gpg-agent could not ask for it"},
		{"wrong", []string{"ROSBAG_GPG_PASSPHRASE=" + passphrase + "x"}, "the one in ROSBAG_GPG_PASSPHRASE is wrong"},
		{"right", []string{"ROSBAG_GPG_PASSPHRASE=" + passphrase}, ""},
		{"remembered by gpg-agent", nil, ""},
		{"another keyring", others.Env(), "the GPG keyring has no secret key"},
		{"no keyring", []string{"GNUPGHOME=" + filepath.Join(g.Dir, "missing")}, "the GPG keyring has no secret key"},
		{"no gpg", []string{"PATH=" + g.Dir}, "the program gpg is not there"},
	} {
		code, said := info(step.env...)
		switch {
		case strings.Contains(said, passphrase):
			t.Errorf("%s: the passphrase is told: %s", step.name, said)
		case step.says == "" && (code != 0 || !strings.Contains(said, "GPG key user: Bob Example")):
			t.Errorf("%s: code %d, %s", step.name, code, said)
		case step.says != "" && (code != 1 || !strings.Contains(said, `the GPG key of "Bob Example"`) || !strings.Contains(said, step.says) || strings.Count(said, "\n") != 1):
			t.Errorf("%s: code %d, %s, want one line with %q", step.name, code, said, step.says)
		}
	}
	g.Env = append(keys.Env(), "ROSBAG_GPG_PASSPHRASE="+passphrase)
	g.Run("gobag", "decrypt", in)
	if d := gocmp.Diff([]string{"in.bag", "in.orig.bag"}, slices.DeleteFunc(files(t, g.Dir), func(name string) bool { return !strings.HasPrefix(name, "in") })); d != "" {
		t.Errorf("files differ (-want +got):\n%s", d)
	}
	err := filepath.WalkDir(g.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(passphrase)) {
			t.Errorf("the passphrase is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
