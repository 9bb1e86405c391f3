package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// Keyring is a GPG keyring of a test, with a gpg-agent that ends with the test and asks
// nobody.
type Keyring struct {
	t   *testing.T
	dir string
}

// NewKeyring creates an empty keyring.
func NewKeyring(t *testing.T) *Keyring {
	t.Helper()
	Need(t, "gpg", "--version")
	dir, err := os.MkdirTemp(RunDir(), "k") //nolint:usetesting // a short path: it is that of sockets
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gpg-agent.conf"), []byte("pinentry-program /bin/false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &Keyring{t, dir}
	t.Cleanup(func() {
		k.KillAgent()
		k.run("", "gpgconf", "--remove-socketdir")
	})
	return k
}

// Env returns the environment variable with which gpg, and programs that run gpg, use the keyring.
func (k *Keyring) Env() []string { return []string{"GNUPGHOME=" + k.dir, "GPG_TTY="} }

// AddKey makes a key for a user. The passphrase may be empty.
func (k *Keyring) AddKey(user, passphrase string) {
	k.t.Helper()
	k.run(passphrase, "gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase-fd", "0", "--quick-gen-key", user, "rsa2048", "encr", "never")
}

// KillAgent makes gpg-agent forget passphrases. The next gpg starts another one.
func (k *Keyring) KillAgent() {
	k.t.Helper()
	k.run("", "gpgconf", "--kill", "gpg-agent")
}

func (k *Keyring) run(stdin, name string, args ...string) {
	k.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), k.Env()...)
	cmd.Stdin = strings.NewReader(stdin + "\n")
	if out, err := testkit.CombinedOutput(cmd); err != nil {
		k.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
