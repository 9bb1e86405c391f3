// Package gpg decrypts short OpenPGP messages, such as wrapped keys, through the program gpg
// with the keys of the user.
//
// Secrets pass through pipes only, never through files, command lines, logs or errors.
// A passphrase comes from gpg-agent, which may ask the user, or from the environment.
//
// Decisions: ADR 0059.
package gpg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// PassphraseVariable is the variable of the environment with the passphrase of the GPG key. rosbag's
// Python API reads the same variable. If it is unset or empty, gpg-agent returns the passphrase or
// asks the user.
const PassphraseVariable = "ROSBAG_GPG_PASSPHRASE" //nolint:gosec // a name

const (
	maxPlain      = 64        // bytes of a decrypted message; an AES key has 32 at most
	maxPassphrase = 4<<10 - 1 // bytes: with a line break they fit a pipe of one page before gpg reads
	maxLine       = 16 << 10  // bytes of a line of gpg
	maxKeyIDs     = 8         // keys that an error names, at most
	exitTimeout   = 5 * time.Second
)

// Errors that callers distinguish with errors.Is. Their texts say what to do.
var (
	ErrNotInstalled = errors.New("the program gpg is not there; install GnuPG 2.1 or later (Debian: apt-get install gpg gpg-agent)")
	ErrNoKey        = errors.New("the GPG keyring has no secret key for it")
	ErrPassphrase   = errors.New("the GPG key needs its passphrase")
)

// Decrypt decrypts message, a short OpenPGP message, binary or armored. The message is untrusted.
// Decrypt may wait until the user has entered a passphrase, and ends with ctx.
func Decrypt(ctx context.Context, message []byte) ([]byte, error) {
	path, err := exec.LookPath("gpg")
	if err != nil {
		return nil, ErrNotInstalled
	}
	passphrase := os.Getenv(PassphraseVariable)
	args := []string{"--batch", "--no-tty", "--disable-dirmngr", "--status-fd", "2"}
	var files []*os.File
	if passphrase != "" {
		pipe, err := filledPipe(passphrase)
		if err != nil {
			return nil, err
		}
		defer pipe.Close() //nolint:errcheck // only read from
		args = append(args, "--pinentry-mode", "loopback", "--passphrase-fd", "3")
		files = append(files, pipe)
	}
	var said report
	cmd := exec.CommandContext(ctx, path, append(args, "--decrypt")...) //nolint:gosec // gpg of the user's PATH
	cmd.Env = environment(os.Environ())
	cmd.ExtraFiles = files // the first is 3
	cmd.Stdin, cmd.Stderr = bytes.NewReader(message), &said
	cmd.WaitDelay = exitTimeout
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("gpg: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = stdout.Close() })() // also if a child of gpg keeps stdout open
	plain := make([]byte, maxPlain+1)
	n, err := io.ReadFull(stdout, plain)
	long := err == nil
	if long {
		_ = stdout.Close() // ends gpg, which may have gigabytes to write
	}
	err = cmd.Wait()
	said.end()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case long:
		err = fmt.Errorf("gpg: the message holds more than %d bytes: it is no wrapped key", maxPlain)
	case err != nil || !said.decrypted:
		err = said.failure(passphrase != "")
	default:
		return plain[:n:n], nil
	}
	clear(plain)
	return nil, err
}

// filledPipe returns the reading end of a pipe that delivers a line.
func filledPipe(line string) (*os.File, error) {
	if len(line) > maxPassphrase {
		return nil, fmt.Errorf("%s has %d bytes, limit %d", PassphraseVariable, len(line), maxPassphrase)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.WriteString(line + "\n")
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// environment returns env for gpg, without the passphrase, because gpg passes env to the daemon
// gpg-agent, and with the terminal on which gpg-agent may ask the user.
func environment(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env),
		func(entry string) bool { return strings.HasPrefix(entry, PassphraseVariable+"=") })
	if os.Getenv("GPG_TTY") != "" {
		return env
	}
	for _, f := range []*os.File{os.Stdin, os.Stderr} {
		if !term.IsTerminal(int(f.Fd())) {
			continue
		}
		// On Linux only; on other systems the user sets the variable.
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil {
			return append(env, "GPG_TTY="+name)
		}
	}
	return env
}

// report parses the standard error of gpg: status lines for programs, and lines for people.
type report struct {
	line      []byte
	decrypted bool
	noData    bool
	// of secret keys that are missing
	keyIDs []string
	// code of libgpg-error: why an existing secret key could not be used; 0 if gpg did not try
	code uint64
	// the same for people
	reason string
	// the last line for people
	last string
}

// Write implements io.Writer.
func (r *report) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte("\n"))
		r.line = append(r.line, part[:min(len(part), maxLine-len(r.line))]...)
		if b = rest; whole {
			r.end()
		}
	}
	return n, nil
}

// end parses the line that is complete.
func (r *report) end() {
	line := string(r.line)
	r.line = r.line[:0]
	status, ok := strings.CutPrefix(line, "[GNUPG:] ")
	if !ok {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "gpg: ")); line != "" {
			r.last = line
		}
		return
	}
	words := strings.Fields(status)
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "DECRYPTION_OKAY":
		r.decrypted = true
	case "NO_SECKEY":
		if len(words) > 1 && len(r.keyIDs) < maxKeyIDs {
			r.keyIDs = append(r.keyIDs, words[1])
		}
	case "NODATA":
		r.noData = true
	case "ERROR":
		if len(words) > 2 && words[1] == "pkdecrypt_failed" {
			code, _ := strconv.ParseUint(words[2], 10, 32) // of another form: an unknown reason
			r.code = max(code&0xffff, 1)
			r.reason = r.last
		}
	}
}

// Codes of libgpg-error.
const (
	codeBadPassphrase = 11
	codeNoSecretKey   = 17
	codeTimeout       = 62
	codeCanceled      = 99
	codeNoPassphrase  = 177
	codeFullyCanceled = 198
)

// failure returns why gpg has failed. given reports whether gpg got a passphrase.
func (r *report) failure(given bool) error {
	const ask = "set " + PassphraseVariable +
		", or let gpg-agent ask, which needs a pinentry and in a terminal GPG_TTY=$(tty)"
	switch {
	case r.code == codeBadPassphrase && given:
		return fmt.Errorf("%w: the one in %s is wrong", ErrPassphrase, PassphraseVariable)
	case r.code == codeBadPassphrase:
		return fmt.Errorf("%w: the one that gpg-agent got is wrong", ErrPassphrase)
	case r.code == codeCanceled, r.code == codeFullyCanceled, r.code == codeNoPassphrase,
		r.code == codeTimeout:
		return fmt.Errorf("%w: nobody gave it; %s", ErrPassphrase, ask)
	case r.code == codeNoSecretKey, r.code == 0 && len(r.keyIDs) > 0:
		return fmt.Errorf("%w: import %s with gpg --import, set GNUPGHOME to the directory of the keyring that has it, or decrypt the bag on the machine that has it",
			ErrNoKey, cmp.Or(strings.Join(r.keyIDs, " or "), "it"))
	case r.code != 0:
		return fmt.Errorf("%w, and gpg-agent could not ask for it (%.200s); %s", ErrPassphrase, r.reason, ask)
	case r.noData:
		return errors.New("gpg finds no OpenPGP message in it")
	}
	return fmt.Errorf("gpg: %.200s", cmp.Or(r.last, "the message is not encrypted"))
}
