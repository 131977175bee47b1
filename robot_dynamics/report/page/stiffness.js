// The picture is drawn already.

followTheme(document.getElementById('theme'), () => {});
