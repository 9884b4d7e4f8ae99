//! Values as bytes, for messages between the processes of a job, which all run the same library.

/// A value as bytes that [`decode`] understands; `None` only if memory is out.
pub fn encode<T: serde::Serialize>(value: &T) -> Option<Vec<u8>> {
    postcard::to_stdvec(value).ok()
}

/// The value that another process of this job encoded.
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
