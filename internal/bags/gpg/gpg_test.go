package gpg_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/bags/gpg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// These tests run a fake gpg that prints recorded output of the real program. The tests of
// test/integration/bag run the real one.

// fake installs a shell script as the program gpg.
func fake(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gpg"), []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// says is a script with what gpg prints to standard error.
func says(lines string) string { return "cat >/dev/null; cat >&2 <<'END'\n" + lines + "\nEND\n" }

const okay = "[GNUPG:] ENC_TO C93AD6BFE8C6659C 1 0\n[GNUPG:] DECRYPTION_OKAY\n[GNUPG:] END_DECRYPTION"

func TestDecrypt(t *testing.T) {
	t.Setenv(gpg.PassphraseVariable, "")
	fake(t, "tr a-z A-Z; cat >&2 <<'END'\n"+okay+"\nEND\n")
	got, err := gpg.Decrypt(t.Context(), []byte("sixteen bytes..."))
	if string(got) != "SIXTEEN BYTES..." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPassphrase: the passphrase gets to gpg, and nowhere else.
func TestPassphrase(t *testing.T) {
	const secret = "correct horse"
	t.Setenv(gpg.PassphraseVariable, secret)
	t.Setenv("GNUPGHOME", "kept")
	dir := fake(t, `cat <&3 >fd3; echo "$@" >args; env >env; ls /proc/$$/fd >fds; cat >/dev/null; printf %s 0123456789abcdef; echo "[GNUPG:] DECRYPTION_OKAY" >&2`)
	got, err := gpg.Decrypt(t.Context(), []byte("message"))
	if string(got) != "0123456789abcdef" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if s := read("fd3"); s != secret+"\n" {
		t.Errorf("gpg reads %q from its descriptor 3", s)
	}
	if s := read("args"); strings.Contains(s, secret) || !strings.Contains(s, "--passphrase-fd 3") {
		t.Errorf("arguments: %s", s)
	}
	if s := read("env"); strings.Contains(s, secret) || !strings.Contains(s, "GNUPGHOME=kept") {
		t.Errorf("environment: %s", s)
	}
	t.Setenv(gpg.PassphraseVariable, strings.Repeat("x", 5000))
	if _, err := gpg.Decrypt(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "5000 bytes") || strings.Contains(err.Error(), "xxx") {
		t.Errorf("long passphrase: %v", err)
	}
}

func TestFailures(t *testing.T) {
	t.Setenv(gpg.PassphraseVariable, "")
	const failed = "\n[GNUPG:] BEGIN_DECRYPTION\n[GNUPG:] DECRYPTION_FAILED\ngpg: decryption failed: No secret key\n[GNUPG:] END_DECRYPTION\nexit 2"
	for name, tc := range map[string]struct {
		script, passphrase string
		want               error // nil: any
		says               []string
	}{
		"no key": {
			script: says("[GNUPG:] ENC_TO 9E83C071BCDEE383 1 0\ngpg: encrypted with RSA key, ID 9E83C071BCDEE383\n[GNUPG:] NO_SECKEY 9E83C071BCDEE383"+failed) + "exit 2",
			want:   gpg.ErrNoKey, says: []string{"9E83C071BCDEE383", "gpg --import", "GNUPGHOME"},
		},
		"one of two keys, locked": {
			script: says("[GNUPG:] NO_SECKEY 9E83C071BCDEE383\ngpg: public key decryption failed: Bad passphrase\n[GNUPG:] ERROR pkdecrypt_failed 67108875"+failed) + "exit 2",
			want:   gpg.ErrPassphrase, says: []string{"is wrong"},
		},
		"wrong passphrase": {
			script:     says("gpg: public key decryption failed: Bad passphrase\n[GNUPG:] ERROR pkdecrypt_failed 67108875"+failed) + "exit 2",
			passphrase: "wrong", want: gpg.ErrPassphrase, says: []string{"ROSBAG_GPG_PASSPHRASE is wrong"},
		},
		"nobody to ask": {
			script: says("gpg: public key decryption failed: Inappropriate ioctl for device\n[GNUPG:] ERROR pkdecrypt_failed 83918950"+failed) + "exit 2",
			want:   gpg.ErrPassphrase, says: []string{"Inappropriate ioctl", "ROSBAG_GPG_PASSPHRASE", "GPG_TTY=$(tty)"},
		},
		"canceled": {
			script: says("gpg: public key decryption failed: Operation cancelled\n[GNUPG:] ERROR pkdecrypt_failed 83886179"+failed) + "exit 2",
			want:   gpg.ErrPassphrase, says: []string{"nobody gave it", "ROSBAG_GPG_PASSPHRASE"},
		},
		"no message": {
			script: says("gpg: no valid OpenPGP data found.\n[GNUPG:] NODATA 1\n[GNUPG:] FAILURE decrypt 4294967295\ngpg: decrypt_message failed: Unknown system error") + "exit 2",
			says:   []string{"no OpenPGP message"},
		},
		"not encrypted":  {script: "echo plain; " + says("[GNUPG:] PLAINTEXT 62 1795378356"), says: []string{"not encrypted"}},
		"broken":         {script: says("gpg: Fatal: libgcrypt is too old") + "exit 2", says: []string{"libgcrypt is too old"}},
		"dies":           {script: "kill -9 $$", says: []string{"gpg"}},
		"okay, but dies": {script: says(okay) + "exit 2", says: []string{"gpg"}},
		"endless output": {script: says(okay) + "yes secret", says: []string{"more than 64 bytes"}},
		"endless line":   {script: "cat >/dev/null; head -c 1000000 /dev/zero >&2; exit 2", says: []string{"gpg"}},
	} {
		t.Run(name, func(t *testing.T) {
			fake(t, tc.script)
			t.Setenv(gpg.PassphraseVariable, tc.passphrase)
			plain, err := gpg.Decrypt(t.Context(), []byte("message"))
			if err == nil || plain != nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Fatalf("%q, %v, want %v", plain, err, tc.want)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v does not say %q", err, text)
				}
			}
			if len(err.Error()) > 600 || tc.passphrase != "" && strings.Contains(err.Error(), `"wrong"`) || strings.Contains(err.Error(), "secret\n") {
				t.Errorf("error of %d bytes: %.1000q", len(err.Error()), err)
			}
		})
	}
}

func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := gpg.Decrypt(t.Context(), []byte("message")); !errors.Is(err, gpg.ErrNotInstalled) || !strings.Contains(err.Error(), "install") {
		t.Errorf("%v", err)
	}
}

// TestCanceled: a canceled call waits neither for a gpg that waits for a passphrase nor for a child
// of gpg that keeps the output open.
func TestCanceled(t *testing.T) {
	t.Setenv(gpg.PassphraseVariable, "")
	dir := fake(t, "(read y <child) 2>/dev/null & echo >began; read x <never")
	for _, name := range []string{"began", "child", "never"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := gpg.Decrypt(ctx, []byte("message"))
		done <- err
	}()
	began, err := os.Open(filepath.Join(dir, "began")) // waits for who writes to it
	if err != nil {
		t.Fatal(err)
	}
	defer began.Close()
	defer func() { // ends the child
		if f, err := os.OpenFile(filepath.Join(dir, "child"), os.O_WRONLY, 0); err != nil || f.Close() != nil {
			t.Error(err)
		}
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
