package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/cloud/upload"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// uploadSettings say where finished bags are copied to, and how.
type uploadSettings struct {
	to     string // URL of a store; empty means nowhere
	rate   int64  // bytes a second at most; zero means no limit
	remove bool   // delete a bag here once the store has it
	wait   time.Duration
}

func (u *uploadSettings) group() config.Group {
	rules := func() []config.Rule {
		return []config.Rule{{
			Bad:     u.to == "" && (u.rate != 0 || u.remove),
			Options: []string{"upload-rate", "upload-delete", "upload"},
			Reason:  "--upload-rate and --upload-delete need --upload",
		}}
	}
	return config.Group{Title: "Uploads", Rules: rules, Options: []config.Option{
		{Name: "upload", Arg: "URL", Value: config.Text(&u.to, checkUpload), Help: `
			Copy each finished bag to object storage while recording: s3://BUCKET/PREFIX, gs://, azblob:// or file:///DIR. {host} and letters of
			strftime in it are replaced for each bag. Credentials are those of the cloud provider's own tools, such as AWS_ACCESS_KEY_ID. Bags that
			are not uploaded when the recording ends wait for the next start.`},
		{Name: "upload-rate", Arg: "SIZE", Value: config.To(&u.rate, units.Bytes), Help: `
			Upload at most this many bytes a second, such as 5M (default: no limit).`},
		{Name: "upload-delete", Value: config.Switch(&u.remove), Help: `
			Delete a bag here when the store has it and reports the same size and checksum.`},
		{Name: "upload-wait", Arg: "TIME", Default: "5s", Value: options.Seconds(&u.wait, options.NotNegative), Help: `
			At the end, continue uploads for at most this time (default ${default}).`},
	}}
}

// check returns the error with which the start would refuse to upload, or an error if uploads go to a
// directory of this machine that cannot be written to. One that does not exist may be on a network share
// that is mounted later: bags wait for it, so that is a warning. No store is asked.
func (u *uploadSettings) check(log *zap.Logger) error {
	if u.to == "" {
		return nil
	}
	to, bucket, err := u.open(context.Background())
	if err != nil {
		return err
	}
	err = errors.Join(bucket.Close(), store.CheckDirectory(to.URL))
	if errors.Is(err, store.ErrNotFound) {
		log.Warn("The directory to upload to is not there: bags stay here until it is",
			zap.String("to", to.URL), zap.String("reason", store.Message(err)))
		return nil
	}
	if err != nil {
		return fmt.Errorf("--upload: %w", err)
	}
	return nil
}

// open opens the store, which is not asked and need not be there.
func (u *uploadSettings) open(ctx context.Context) (to upload.Destination, bucket *store.Bucket, err error) {
	if to, err = upload.ParseDestination(u.to); err == nil {
		bucket, err = store.OpenBucket(ctx, to.URL, u.rate)
	}
	if err != nil {
		err = fmt.Errorf("--upload: %w", err)
	}
	return to, bucket, err
}

// checkUpload checks the URL of a store, whose path may hold {host} and letters of strftime.
func checkUpload(url string) error {
	if url == "" {
		return nil
	}
	to, err := upload.ParseDestination(url)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), store.Redact(url)+": "))
	}
	if err := store.CheckUploadURL(to.URL); err != nil {
		return errors.New(store.Message(err))
	}
	return nil
}
