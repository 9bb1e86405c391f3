//go:build gs

package store

import _ "gocloud.dev/blob/gcsblob" // gs://
