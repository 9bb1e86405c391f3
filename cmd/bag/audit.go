package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // see below
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/catalog"
	"github.com/gorosbag/gorosbag/internal/escape"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/store"
)

type auditFlags struct {
	readOnly

	Rate    config.Size `placeholder:"SIZE" help:"Read at most this many bytes a second, such as 20M (default: as fast as it goes)."`
	Journal string      `placeholder:"FILE" help:"File that notes what is verified (default: one for each place, in the directory for caches)."`
	JSON    bool        `name:"json" help:"One line of JSON for each defect."`
	Quiet   bool        `short:"q" help:"Show no progress bar and no summary; defects are told anyway."`
	Place   string      `arg:"" name:"place" completion-predictor:"dir" help:"URL of a store such as s3://BUCKET/PREFIX, or a directory: with all that is below."`
}

// Help is the long help.
func (auditFlags) Help() string {
	return `Reads every bag of a place and compares it with the SHA-256 that its upload noted in the
metadata of the object, or else with the MD5 that the store tells. Bags with neither, and bags
that the catalog of gobag find has but the store has not, are defects, too: gobag index drops
those that were deleted on purpose.

What is verified is noted in a journal. An audit that was interrupted continues there when it
is started again, with any rate; after a complete one the journal is deleted. Bags that have
changed since are read again.

Exit code 3 says that there are defects, which are listed.`
}

// auditsInFlight is how many bags are read at the same time.
const auditsInFlight = 4

// verdict is a line of the journal, and of the output if it is a defect.
type verdict struct {
	Bag     string    `json:"bag"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modified"`
	Defect  string    `json:"defect,omitempty"` // empty: the bag is as it was uploaded
	unread  bool      // it could not be read
	gone    bool      // it was deleted meanwhile
}

// audit is a run of the command.
type audit struct {
	*auditFlags
	*bagjob.Job
	place *bagopen.Place

	mu      sync.Mutex
	journal *os.File
	known   map[string]verdict // from the journal, by bag
	defects []verdict
	read    int // bags in this run
	skipped int // bags that the journal has
}

// Run verifies the bags of a place.
func (f *auditFlags) Run(ctx context.Context, out bagjob.Output) (err error) {
	p, err := bagopen.OpenPlace(ctx, f.Place, int64(f.Rate))
	j := bagjob.New(ctx, out, bagjob.Options{Quiet: f.Quiet})
	if err != nil {
		return j.Failed(f.Place, err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	a := &audit{auditFlags: f, Job: j, place: p, known: map[string]verdict{}}
	defer a.Bar.Clear()
	if err := a.openJournal(); err != nil {
		return fmt.Errorf("the journal: %w; name another file with --journal", err)
	}
	err = a.verify(ctx)
	a.Bar.Clear()
	err = errors.Join(err, a.journal.Close())
	if err != nil {
		if a.read+a.skipped > 0 {
			a.Say("%s verified so far; the same command continues there", plural.Of(uint64(a.read+a.skipped), "bag"))
		}
		return a.Failed(f.Place, explain.Error(err))
	}
	if err := os.Remove(a.journal.Name()); err != nil {
		return err
	}
	return a.report()
}

// verify reads the bags that the journal does not have.
func (a *audit) verify(ctx context.Context) error {
	var bags []store.Entry
	var total int64
	all, missing, err := catalog.Inventory(ctx, a.place.Bucket)
	if err != nil {
		return err
	}
	for _, e := range all {
		if v, ok := a.known[e.Name]; ok && v.Size == e.Size && v.ModTime.Equal(e.ModTime) {
			a.skipped++
			a.count(v)
			continue
		}
		bags = append(bags, e)
		total += e.Size
	}
	for _, bag := range missing {
		a.count(verdict{Bag: bag, Defect: "is in the catalog, but not in the store: it is lost, or was deleted"})
	}
	if len(all)+len(missing) == 0 {
		return errors.New("no bags there")
	}
	var done int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(auditsInFlight)
	for _, e := range bags {
		// owner: verify; ends when the bag is read or with ctx.
		group.Go(func() error {
			v, err := a.one(ctx, e, func(n int) {
				a.mu.Lock()
				defer a.mu.Unlock()
				done += int64(n)
				a.Bar.Set(bagjob.Bytes("Verifying", total), done)
			})
			if err != nil || v.gone {
				return err
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.read++
			a.count(v)
			if v.unread {
				return nil // the next run is to try again
			}
			return a.note(v)
		})
	}
	return group.Wait()
}

// count remembers a defect.
func (a *audit) count(v verdict) {
	if v.Defect != "" {
		a.defects = append(a.defects, v)
	}
}

// Times of an audit to read a bag, and the wait between two.
const (
	auditAttempts = 4
	auditRetry    = time.Second
)

// one reads a bag. An error means that nothing is known of it.
func (a *audit) one(ctx context.Context, e store.Entry, progress func(int)) (v verdict, err error) {
	v = verdict{Bag: e.Name, Size: e.Size, ModTime: e.ModTime}
	for attempt := range auditAttempts {
		if attempt > 0 {
			select {
			case <-time.After(auditRetry << attempt):
			case <-ctx.Done():
				return v, context.Cause(ctx)
			}
		}
		read := 0
		v.Defect, err = a.defect(ctx, e.Name, func(n int) {
			read += n
			progress(n)
		})
		switch {
		case err == nil, ctx.Err() != nil:
			return v, err
		case errors.Is(err, store.ErrNotFound):
			v.gone = true
			return v, nil
		}
		progress(-read) // it is read again
		if errors.Is(err, store.ErrDenied) {
			break // another attempt is of no use
		}
	}
	if errors.Is(err, store.ErrUnreachable) {
		return v, fmt.Errorf("%s: %w", explain.Name(a.place.Path(e.Name)), explain.Error(err))
	}
	v.Defect, v.unread = "cannot be read: "+store.Message(err), true
	return v, nil
}

// defect reads a bag and returns what is wrong with it, if anything.
func (a *audit) defect(ctx context.Context, bag string, progress func(int)) (string, error) {
	want, err := a.place.Attributes(ctx, bag)
	if err != nil {
		return "", err
	}
	if want.SHA256 == "" && want.MD5 == nil {
		return "has no checksum: it was not uploaded by gorecord or gobag, and cannot be verified", nil
	}
	body, err := a.place.Read(ctx, bag)
	if err != nil {
		return "", err
	}
	defer body.Close()                  //nolint:errcheck // only read from
	sha, sum := sha256.New(), md5.New() //nolint:gosec // what stores tell; not for security
	n, err := io.Copy(io.MultiWriter(sha, sum, countingWriter(progress)), io.LimitReader(body, want.Size+1))
	got := hex.EncodeToString(sha.Sum(nil))
	switch {
	case err != nil:
		return "", err
	case n > want.Size:
		return fmt.Sprintf("the store sends more than the %d bytes that it has", want.Size), nil
	case n != want.Size:
		return fmt.Sprintf("the store sends %d bytes of %d", n, want.Size), nil
	case want.SHA256 != "" && got != want.SHA256:
		return fmt.Sprintf("is damaged: its SHA-256 is %s, that of the upload %s", got, want.SHA256), nil
	case want.SHA256 == "" && !slices.Equal(sum.Sum(nil), want.MD5):
		return fmt.Sprintf("is damaged: its MD5 is %x, that of the store %x", sum.Sum(nil), want.MD5), nil
	}
	return "", nil
}

// countingWriter calls a function with the length of each write.
type countingWriter func(n int)

// Write implements io.Writer.
func (w countingWriter) Write(p []byte) (int, error) {
	w(len(p))
	return len(p), nil
}

// openJournal reads what an interrupted audit of the place has verified, and opens the journal to
// add to it. It does not touch a file that is something else.
func (a *audit) openJournal() error {
	path := a.Journal
	if path == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(a.place.String()))
		path = filepath.Join(dir, "gobag", fmt.Sprintf("audit-%x.jsonl", sum[:8]))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path) // it would be deleted in the end
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	if !newfile.Lock(f) {
		return errors.Join(errors.New(path+" is in use by another audit"), f.Close())
	}
	if err := a.readJournal(f); err != nil {
		return errors.Join(err, f.Close())
	}
	a.journal = f
	return nil
}

// readJournal reads the journal, whose first line says which place it is of.
func (a *audit) readJournal(f *os.File) error {
	head, err := json.Marshal(map[string]string{"audit of": a.place.String()})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(f)
	if lines.Scan(); !bytes.Equal(lines.Bytes(), head) {
		st, err := f.Stat()
		switch torn := bytes.HasPrefix(head, lines.Bytes()) && st != nil && st.Size() == int64(len(lines.Bytes())); {
		case err != nil:
			return err
		case lines.Err() != nil || !torn:
			return fmt.Errorf("%s is not that of an audit of %s", f.Name(), a.place)
		}
		_, err = f.Write(head[st.Size():])
		return err
	}
	for lines.Scan() {
		var v verdict
		if json.Unmarshal(lines.Bytes(), &v) == nil { // the last line may be torn
			a.known[v.Bag] = v
		}
	}
	return lines.Err()
}

// note adds a line to the journal. It begins with a line end, because the last one may be torn.
func (a *audit) note(v verdict) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = a.journal.Write(append([]byte("\n"), line...))
	}
	return err
}

// report lists the defects.
func (a *audit) report() error {
	slices.SortFunc(a.defects, func(a, b verdict) int { return strings.Compare(a.Bag, b.Bag) })
	for _, v := range a.defects {
		v.Bag = a.place.Path(v.Bag)
		text := fmt.Sprintf("%s: %s", explain.Name(v.Bag), escape.Text(v.Defect))
		if a.JSON {
			line, err := json.Marshal(v)
			if err != nil {
				return err
			}
			text = string(escape.JSON(string(line)))
		}
		if _, err := fmt.Fprintln(a.Stdout, text); err != nil {
			return err
		}
	}
	continued := ""
	if a.skipped > 0 {
		continued = fmt.Sprintf(", %d of them before", a.skipped)
	}
	a.Say("%s verified%s, %s", plural.Of(uint64(a.read+a.skipped), "bag"), continued, plural.Of(uint64(len(a.defects)), "defect"))
	if len(a.defects) > 0 {
		return bagjob.ErrLossy
	}
	return nil
}
