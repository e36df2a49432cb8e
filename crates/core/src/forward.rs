//! `forward_trait!`: implements a trait for pointers to its implementations.

/// Implements a trait for pointers by calling the same methods of the target. Async methods come first. Clippy reports a
/// method that is missing in the list, which would silently have its default.
macro_rules! forward_trait {
    (@for $pointer:ident, $name:ident {
        $(async $method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*
        $(fn $plain:ident($($plain_arg:ident: $plain_type:ty),*) $(-> $plain_result:ty)?;)*
    }) => {
        #[async_trait::async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: $name + ?Sized> $name for $pointer<T> {
            $(async fn $method(&self, $($arg: $type),*) -> $result {
                (**self).$method($($arg),*).await
            })*
            $(fn $plain(&self, $($plain_arg: $plain_type),*) $(-> $plain_result)? {
                (**self).$plain($($plain_arg),*)
            })*
        }
    };
    ($name:ident for [$($pointer:ident),+] $methods:tt) => {
        $($crate::forward::forward_trait!(@for $pointer, $name $methods);)+
    };
}

pub(crate) use forward_trait;
