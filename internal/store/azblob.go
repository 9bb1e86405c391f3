//go:build azblob

package store

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob" // azblob://

	"github.com/gorosbag/gorosbag/internal/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/store/place"
)

// checkedAzure replaces the client of a bucket of Azure by one that checks the responses of the server.
// The driver has accepted the URL.
func checkedAzure(ctx context.Context, at place.Place, b *blob.Bucket) (*blob.Bucket, error) {
	opener := azureblob.URLOpener{MakeClient: newAzureClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
	safe, err := opener.OpenBucketURL(ctx, at.URL)
	if err = errors.Join(err, b.Close()); err != nil {
		return nil, at.Explain(err)
	}
	return safe, nil
}

// newAzureClient returns a client with the credentials that the driver's own would use.
func newAzureClient(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
	containerURL, err := url.JoinPath(string(service), string(name))
	if err != nil {
		return nil, err
	}
	o := new(container.ClientOptions)
	o.Transport = &http.Client{Transport: response.Transport{Next: response.NewTransport()}}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection == "" {
		connection = os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING")
	}
	switch {
	case account != "" && key != "":
		shared, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(containerURL, shared, o)
	case os.Getenv("AZURE_STORAGE_SAS_TOKEN") != "": // the token is in the URL
		return container.NewClientWithNoCredential(containerURL, o)
	case connection != "":
		return container.NewClientFromConnectionString(connection, string(name), o)
	}
	own, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(containerURL, own, o)
}
