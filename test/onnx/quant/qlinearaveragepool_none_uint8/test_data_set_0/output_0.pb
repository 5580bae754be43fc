J<A97Pwº}´wƒP‰iœf„Sx/x¹qki^H+#"XgŒƒ§—ÉºÏ…6SD
>LƒFZ*¥IŽ‚m¶S¹{