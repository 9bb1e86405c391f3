package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

const (
	// checkName is the object that Check writes: always the same, so that keys that may not delete
	// leave no more than one.
	checkName    = ".gorosbag-check"
	checkContent = "gorecord --upload writes this object to check the store, and deletes it.\n"

	// cleanupTimeout bounds the deletion of the object after a check was interrupted.
	cleanupTimeout = time.Second
)

// Check writes a small object below the prefix, reads it back and deletes it. It returns an error
// if the store takes no uploads. A key that may write, but not read or delete, is no error: unchecked
// then says what could not be checked. It is empty if everything was checked.
func (b *Bucket) Check(ctx context.Context) (unchecked string, err error) {
	for range 2 { // another recorder with the same prefix may delete the object
		unchecked, err = b.checkOnce(ctx)
		if !errors.Is(err, errVanished) {
			break
		}
	}
	return unchecked, err
}

// errVanished means that the store does not have the object that it has accepted.
var errVanished = errors.New("the store has accepted an object, but does not have it")

func (b *Bucket) checkOnce(ctx context.Context) (unchecked string, err error) {
	if err := b.WriteAll(ctx, checkName, []byte(checkContent)); err != nil {
		return "", err
	}
	at := b.at.Object(checkName)
	var skipped []string
	got, readErr := b.ReadAll(ctx, checkName, int64(len(checkContent)))
	switch {
	case errors.Is(readErr, place.ErrDenied):
		skipped, readErr = append(skipped, "reading it back (the key may not)"), nil
	case errors.Is(readErr, place.ErrNotFound):
		readErr = at.Fail(errVanished, "%v", errVanished)
	case errors.Is(readErr, place.ErrTooLarge), readErr == nil && string(got) != checkContent:
		readErr = at.Fail(nil,
			"the store returns other bytes than were written: check what is between it and this machine")
	}
	if ctx.Err() != nil { // an interrupted check must leave nothing behind, either
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
	}
	switch err := b.Delete(ctx, checkName); {
	case err == nil:
	case errors.Is(err, place.ErrDenied):
		skipped = append(skipped, "deleting it (the key may not, so "+checkName+" stays there)")
	default:
		skipped = append(skipped, "deleting it ("+Message(err)+")")
	}
	return strings.Join(skipped, ", "), readErr
}
