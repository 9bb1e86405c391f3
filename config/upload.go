package config

import (
	"errors"
	"time"
)

// Upload holds the options of uploads.
type Upload struct {
	To     string        `group:"Uploads:" name:"upload" placeholder:"URL" help:"Copy each finished bag to object storage while recording: s3://BUCKET/PREFIX, gs://, azblob:// or file:///DIR. {host} and letters of strftime in it are replaced for each bag. Credentials are those of the cloud provider's own tools, such as AWS_ACCESS_KEY_ID. Bags that are not uploaded when the recording ends wait for the next start."`
	Rate   Size          `group:"Uploads:" name:"upload-rate" placeholder:"SIZE" help:"Upload at most this many bytes a second, such as 5M (default: no limit)."`
	Delete bool          `group:"Uploads:" name:"upload-delete" help:"Delete a bag here when the store has it and reports the same size and checksum."`
	Wait   time.Duration `group:"Uploads:" name:"upload-wait" default:"5s" placeholder:"TIME" help:"At the end, continue uploads for at most this time (default ${default})."`
}

// check is part of Record.Validate.
func (u *Upload) check() error {
	switch {
	case u.To == "" && (u.Rate != 0 || u.Delete):
		return errors.New("--upload-rate and --upload-delete need --upload")
	case u.Wait < 0:
		return errors.New("--upload-wait must not be negative")
	}
	return nil
}
